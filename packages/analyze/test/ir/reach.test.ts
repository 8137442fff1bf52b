import assert from 'node:assert/strict'
import { test } from 'node:test'
import { programOf, unitNamed } from '../support/program.ts'

function reachOf(source: string, name: string): string[] {
  return [...unitNamed(programOf({ 'a.ts': source }), name).reach.keys()].sort()
}

test('handlers, timers, exports and the top level are roots, and functions they call have their reach', () => {
  const source = `
class Poller {
  start() { setInterval(() => this.#poll(), 1000); socket.on('open', this.onOpen) }
  #poll() { helper() }
  onOpen() { helper() }
}
function helper() { deep() }
function deep() {}
function boot() {}
boot()`
  assert.deepEqual(reachOf(source, 'Poller.#poll'), ['exported', 'timer'])
  assert.deepEqual(reachOf(source, 'deep'), ['event', 'exported', 'timer'])
  assert.deepEqual(reachOf(source, 'boot'), ['start-up'])
})

test('routes are requests, and parallel maps are parallel', () => {
  const source = `
app.get('/users', (req, res) => list())
function list() {}
export async function all(xs) { await Promise.all(xs.map(async (x) => { await one(x) })) }
async function one() {}`
  assert.deepEqual(reachOf(source, 'list'), ['request', 'start-up'])
  assert.deepEqual(reachOf(source, 'one'), ['exported', 'parallel'])
})
