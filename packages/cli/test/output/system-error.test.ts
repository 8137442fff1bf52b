import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { remedyFor } from '../../src/output/system-error.ts'
import { cleanEnv, fixture, launcher } from '../support/program.ts'

const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-read-only-'))
chmodSync(folder, 0o555)
after(() => {
  chmodSync(folder, 0o755)
  rmSync(folder, { recursive: true, force: true })
})

/** Permissions do not bind the superuser: then the command runs as a user without any. */
const isRoot = process.getuid?.() === 0
const user = isRoot ? { uid: 65_534, gid: 65_534 } : {}
const skip = process.platform === 'win32' && 'folders have no such permissions on Windows'

/** Every command that writes, with the name of the file it cannot write. */
const commands: readonly (readonly [args: readonly string[], path: RegExp])[] = [
  [['run', fixture('single.ts')], /\.heddle/],
  [['run', fixture('single.ts'), '--journal', 'sqlite:runs.db'], /runs\.db/],
  [['run', fixture('single.ts'), '--journal', 'sqlite:below/runs.db'], /below/],
  [['serve', '--jobs', fixture('single.ts'), '--port', '0', '--store', 'sqlite:s.db'], /s\.db/],
  [['analyze', fixture('single.ts'), '--baseline', 'base.json', '--write-baseline'], /base\.json/],
]

test('a read-only folder gives a message with the repair, without a stack', { skip }, async (t) => {
  for (const [args, expected] of commands) {
    await t.test(`heddle ${args.join(' ')}`, () => {
      const result = spawnSync(
        process.execPath,
        ['--conditions=heddle-source', launcher, ...args],
        {
          cwd: folder,
          env: cleanEnv({ HOME: folder }),
          encoding: 'utf8',
          ...user,
        },
      )
      assert.ok(result.status === 1 || result.status === 2, `${result.status}: ${result.stderr}`)
      assert.match(result.stderr, expected)
      assert.match(result.stderr, /writable|permissions|another place/)
      assert.doesNotMatch(result.stderr, /^\s+at /m)
    })
  }
})

test('an error that code of the user has met keeps its stack', () => {
  const met = (stack: string): Error =>
    Object.assign(new Error('EACCES: no'), { code: 'EACCES', syscall: 'open', stack })
  assert.equal(remedyFor(met('Error\n    at save (/home/me/jobs.ts:3:9)')), undefined)
  const own = '/app/node_modules/@heddle/core/dist/files/replace.js:3:9'
  assert.match(
    remedyFor(met(`Error\n    at async open (node:internal/fs)\n    at ${own}`))!,
    /writable/,
  )
  assert.equal(remedyFor(new Error('x')), undefined)
  assert.equal(remedyFor('text'), undefined)
})
