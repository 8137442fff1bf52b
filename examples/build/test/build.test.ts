import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { isError } from '@heddle/core'
import { build } from '../build.ts'
import { tasks, writeSources } from '../tasks.ts'

const isWindows = process.platform === 'win32' && 'the tasks are lines of a POSIX shell'

async function makeProject(t: TestContext): Promise<string> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-build-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await writeSources(folder)
  return folder
}

test(
  '50 outputs are built once, restored byte by byte, and a change rebuilds its dependents',
  { skip: isWindows },
  async (t) => {
    const folder = await makeProject(t)
    const outputs = (): string[] =>
      tasks.map(({ output }) => readFileSync(path.join(folder, output), 'utf8'))
    const first = await build(folder, tasks)
    assert.deepEqual([first.built.length, first.restored.length], [50, 0])
    const made = outputs()
    assert.ok(made[49]!.includes('package-0-9 is here'))

    rmSync(path.join(folder, 'out'), { recursive: true })
    const second = await build(folder, tasks)
    assert.deepEqual([second.built.length, second.restored.length], [0, 50])
    assert.deepEqual(outputs(), made)

    writeFileSync(path.join(folder, 'src/package-3-4.txt'), 'changed\n')
    const third = await build(folder, tasks)
    assert.deepEqual(third.built, ['package-3-4', 'package-4-3', 'package-4-4'])
  },
)

test(
  'a command that fails ends the build with what it printed, is not cached, and its dependents do not run',
  { skip: isWindows },
  async (t) => {
    const folder = await makeProject(t)
    const [first, second] = [tasks[0]!, tasks[10]!]
    const broken = { ...first, command: 'echo no disk left >&2; exit 3' }
    await assert.rejects(
      build(folder, [broken, { ...second, after: [broken.name] }]),
      ({ cause }: Error) =>
        isError(cause, 'HDL_COMMAND_FAILED') && cause.message.includes('no disk left'),
    )
    const repaired = await build(folder, [first])
    assert.deepEqual(repaired.built, [first.name])
  },
)
