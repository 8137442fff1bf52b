import assert from 'node:assert/strict'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { analyze } from '../../src/analyze.ts'
import { tempFolder } from '../support/temp-folder.ts'

async function classesOf(t: TestContext, text: string): Promise<readonly string[]> {
  const root = tempFolder(t, { 'a.js': text })
  const files = [path.join(root, 'a.js')]
  const { program } = await analyze({ root, files, types: 'none', keepsProgram: true })
  return program.classes.map(({ name }) => name)
}

test('a function with a prototype is a class; one with a field of a longer name is not', async (t) => {
  const add = 'Store.prototype.add = function () {}'
  assert.deepEqual(await classesOf(t, `function Store() {}\n${add}`), ['Store'])
  assert.deepEqual(await classesOf(t, 'function store() {}\nstore.prototypes = []'), [])
})
