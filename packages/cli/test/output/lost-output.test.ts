import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { Program, fixture } from '../support/program.ts'

const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-lost-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const commands = [
  ['--help'],
  ['--version'],
  ['run', '--help'],
  ['run', fixture('single.ts'), '--journal', 'memory'],
  ['run', fixture('single.ts'), '--journal', 'memory', '--json'],
  ['runs', '--help'],
  ['doctor'],
  ['doctor', '--json'],
  ['analyze', '--explain'],
]

test('a reader that leaves ends no command and leaves no trace, as with `| head`', async (t) => {
  for (const args of commands) {
    await t.test(`heddle ${args.join(' ')}`, async () => {
      using program = new Program(args, { cwd: folder })
      program.process.stdout!.destroy()
      assert.equal(await program.ended(), 0)
      assert.doesNotMatch(program.stderr, /EPIPE|Error|^\s+at /m)
    })
  }
})

const full = '/dev/full'
const skip = process.platform === 'linux' ? false : `${full} is there on Linux only`

test(
  'an output that cannot be written is reported, and the exit code is not 0',
  { skip },
  async (t) => {
    for (const args of commands) {
      await t.test(`heddle ${args.join(' ')}`, async () => {
        const file = openSync(full, 'w')
        using program = new Program(args, { cwd: folder, stdio: ['ignore', file, 'pipe'] })
        closeSync(file)
        assert.notEqual(await program.ended(), 0)
        assert.match(program.stderr, /^heddle: Standard output could not be written: ENOSPC/m)
        assert.doesNotMatch(program.stderr, /^\s+at /m)
      })
    }
  },
)
