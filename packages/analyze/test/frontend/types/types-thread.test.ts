import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { VirtualClock } from '@heddle/core/testing'
import { TypesThread } from '../../../src/frontend/types/types-thread.ts'
import { tempFolder } from '../../support/temp-folder.ts'

test('questions are answered in order, while the loop is free', async (t) => {
  const text = 'const m = new Map(); m.clear()'
  const root = tempFolder(t, { 'a.ts': text, 'tsconfig.json': '{}' })
  const file = path.join(root, 'a.ts')
  const types = new TypesThread({ root, files: [file] })
  t.after(() => types.close())
  const [first, second] = await Promise.all([
    types.ask(new Map([[file, [text.indexOf('clear')]]])),
    types.ask(new Map([[file, [text.indexOf('m.')]]])),
  ])
  assert.equal(first.get(file)?.[0]?.name, 'clear')
  assert.equal(second.get(file)?.[0]?.name, 'm')
  assert.equal(types.source, 'typescript-7')
  assert.deepEqual(types.takeProblems(), [])
})

test('I1: after the end, and for an empty question, the answer is empty', async (t) => {
  const root = tempFolder(t, { 'a.ts': '' })
  const file = path.join(root, 'a.ts')
  const types = new TypesThread({ root, files: [file] })
  assert.equal((await types.ask(new Map())).size, 0)
  assert.equal(types.source, 'typescript-7', 'it would be this one')
  await types.close()
  assert.equal((await types.ask(new Map([[file, [0]]]))).size, 0)
  await types.close()
})

test('I1: a question that is open when it is closed is answered', async (t) => {
  const root = tempFolder(t, { 'a.ts': 'const a = 1' })
  const file = path.join(root, 'a.ts')
  const types = new TypesThread({ root, files: [file] })
  const asked = types.ask(new Map([[file, [6]]]))
  await types.close()
  assert.ok((await asked).size <= 1)
})

test('I2: nothing is left of the process of a compiler that was closed', async (t) => {
  const root = tempFolder(t, { 'a.ts': 'const a = 1' })
  const file = path.join(root, 'a.ts')
  const types = new TypesThread({ root, files: [file] })
  await types.ask(new Map([[file, [6]]]))
  const pid = types.compilerPid
  assert.ok(pid !== undefined)
  await types.close()
  // A process that has ended but was never awaited would still be there.
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})

test('requests asked only ahead do not delay the end', async (t) => {
  const root = tempFolder(t, { 'a.ts': 'const a = 1' })
  const file = path.join(root, 'a.ts')
  const types = new TypesThread({ root, files: [file], requestLimit: 3_600_000 })
  await types.ask(new Map([[file, [6]]]))
  const pid = types.compilerPid
  assert.ok(pid !== undefined)
  process.kill(pid, 'SIGSTOP')
  types.update({ changed: new Map([[file, 'const a = 1']]), isShown: true })
  await types.close()
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  assert.deepEqual(types.takeProblems(), [])
})

test('a compiler that hangs is stopped after the limit and reported, and the analysis continues without types', async (t) => {
  const text = 'const m = new Map(); m.clear()'
  const root = tempFolder(t, { 'a.ts': text, 'tsconfig.json': '{}' })
  const file = path.join(root, 'a.ts')
  const clock = new VirtualClock()
  const types = new TypesThread({ root, files: [file], requestLimit: 1000, clock })
  t.after(() => types.close())
  const first = await types.ask(new Map([[file, [text.indexOf('m ')]]]))
  assert.equal(first.get(file)?.[0]?.name, 'm')
  assert.ok(types.compilerPid !== undefined)
  process.kill(types.compilerPid, 'SIGSTOP')
  // Asks about a new text: for the old one, the thread may have asked everything ahead.
  const newer = `\n${text}`
  types.update({ changed: new Map([[file, newer]]), isShown: true })
  let isAnswered = false
  const answer = types
    .ask(new Map([[file, [newer.indexOf('Map')]]]))
    .finally(() => (isAnswered = true))
  // The thread needs real time to ask, and the kill to arrive.
  while (!isAnswered) await Promise.all([clock.advance(100), turn()])
  const second = await answer
  assert.deepEqual(second.get(file), [undefined])
  assert.equal(types.source, 'none')
  assert.ok(types.takeProblems().some(({ isLost }) => isLost))
})
