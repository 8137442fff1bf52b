/**
 * Runs several test files in this process, one after the other, each as a suite with its path as title.
 *
 * After each file nothing of it may be left: open resources, listeners of the process, changed globals, environment or
 * folder. Anything left is a failure of this file, so that no other one is blamed for it (docs/decisions/0595).
 */
import { createRequire } from 'node:module'
import path from 'node:path'
import process from 'node:process'
import { after, before, suite } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

const require = createRequire(import.meta.url)

/** Milliseconds in which resources can finish closing, on a busy machine too. */
const grace = 30_000

/** Resources of the test runner, and those that end by themselves. */
const ignored = new Set(['PipeWrap', 'Immediate', 'TickObject'])

/** A global that becomes a value when it is first used. */
const lazy = Symbol('lazy')

/** Everything a file could leave behind, as `what: value`. */
function snapshot() {
  const found = new Map()
  const count = (key) => found.set(key, (found.get(key) ?? 0) + 1)
  for (const name of process.getActiveResourcesInfo()) if (!ignored.has(name)) count(`open ${name}`)
  for (const name of process.eventNames()) {
    found.set(`listeners of process for ${String(name)}`, process.listenerCount(name))
  }
  for (const [name, value] of Object.entries(process.env)) found.set(`environment ${name}`, value)
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    const property = Object.getOwnPropertyDescriptor(globalThis, name)
    found.set(`global ${name}`, 'value' in property ? property.value : lazy)
  }
  for (const [owner, methods] of Object.entries({ console, Math, Date, process })) {
    for (const name of Object.getOwnPropertyNames(methods)) {
      const { value } = Object.getOwnPropertyDescriptor(methods, name)
      if (typeof value === 'function') found.set(`${owner}.${name}`, value)
    }
  }
  found.set('Error.stackTraceLimit', Error.stackTraceLimit)
  found.set('working folder', process.cwd())
  return found
}

/** What differs, in words. */
function differences(first, now) {
  const names = new Set([...first.keys(), ...now.keys()])
  return [...names]
    .filter((name) => first.get(name) !== lazy && !Object.is(first.get(name), now.get(name)))
    .map((name) => {
      const show = (value) => (typeof value === 'function' ? 'a function' : String(value))
      return `${name}: ${show(first.get(name) ?? 'none')} before, ${show(now.get(name) ?? 'none')} after`
    })
}

/** Throws when something is left of a file that was not there before it. */
async function expectNothingLeft(first) {
  const end = performance.now() + grace
  for (let turn = 0; ; turn++) {
    const left = differences(first, snapshot())
    if (left.length === 0) return
    if (performance.now() > end) throw new Error(`The file leaves behind:\n  ${left.join('\n  ')}`)
    await sleep(Math.min(turn, 50))
  }
}

/** The files, from the working folder. */
export function runShared(files) {
  const root = process.cwd()
  for (const file of files) {
    suite(file, () => {
      let first
      before(() => {
        first = snapshot()
      })
      // In one step: `node:test` does not know any more which suite is meant after a promise (test-watch.mjs).
      const unloaded = snapshot()
      require(path.join(root, file))
      // Libraries have globals of their own, which stay with them.
      const changed = differences(unloaded, snapshot()).filter(
        (each) => !each.startsWith('global '),
      )
      if (changed.length > 0) throw new Error(`Loading the file changes\n  ${changed.join('\n  ')}`)
      // The last hook of the file.
      after(() => expectNothingLeft(first))
    })
  }
}
