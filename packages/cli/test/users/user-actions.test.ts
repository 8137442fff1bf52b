import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { runProgram } from '../support/program.ts'

async function withFolder(body: (cwd: string) => Promise<void>): Promise<void> {
  const cwd = await mkdtemp(path.join(tmpdir(), 'heddle-users-'))
  try {
    await body(cwd)
  } finally {
    await rm(cwd, { recursive: true, force: true })
  }
}

test('users are added, listed and blocked; without a terminal the link goes to a private file', async () => {
  await withFolder(async (cwd) => {
    const added = await runProgram(['users', 'add', 'Ada', '--role', 'admin', '--json'], { cwd })
    assert.equal(added.code, 0, added.stderr)
    const { name, state, file } = JSON.parse(added.stdout) as Record<string, string>
    assert.deepEqual([name, state], ['ada', 'pending'])
    assert.equal((await stat(file!)).mode & 0o777, 0o600)
    assert.match(
      await readFile(file!, 'utf8'),
      /^http:\/\/127\.0\.0\.1:4500\/ui\/#\/link\/[\w-]{43}\n$/,
    )
    assert.equal(added.stdout.includes('/link/'), false)
    const again = await runProgram(['users', 'add', 'ada'], { cwd })
    assert.equal(again.code, 2)
    assert.match(again.stderr, /"ada" is taken/)
    await runProgram(['users', 'add', 'bob', '--json'], { cwd })
    const blocked = await runProgram(['users', 'block', 'bob'], { cwd })
    assert.match(blocked.stdout, /Blocked bob/)
    const listed = await runProgram(['users', '--json'], { cwd })
    const { users } = JSON.parse(listed.stdout) as { users: { name: string; state: string }[] }
    assert.deepEqual(
      users.map((user) => [user.name, user.state]),
      [
        ['ada', 'pending'],
        ['bob', 'blocked'],
      ],
    )
  })
})

test('the key of cookies is rotated; with --end-sessions every user has to log in again', async () => {
  await withFolder(async (cwd) => {
    const kept = await runProgram(['users', 'rotate-key'], { cwd })
    assert.deepEqual([kept.code, kept.stderr], [0, ''])
    assert.match(kept.stdout, /Sessions continue/)
    const ended = await runProgram(['users', 'rotate-key', '--end-sessions', '--json'], { cwd })
    assert.deepEqual(JSON.parse(ended.stdout), { ok: true, sessionsEnded: 0 })
  })
})

test('tokens are made, listed without secrets, and revoked', async () => {
  await withFolder(async (cwd) => {
    const made = await runProgram(['tokens', 'add', 'ci', '--scope', 'submit', '--json'], { cwd })
    const { token, id } = JSON.parse(made.stdout) as Record<string, string>
    assert.match(token!, /^hdl_[0-9a-f]{18}_[\w-]{43}$/)
    const listed = await runProgram(['tokens', '--json'], { cwd })
    assert.equal(listed.stdout.includes(token!.slice(-43)), false)
    assert.match(listed.stdout, new RegExp(id!))
    assert.match((await runProgram(['tokens', 'revoke', 'ci'], { cwd })).stdout, /Revoked ci/)
    const unknown = await runProgram(['tokens', 'revoke', 'other'], { cwd })
    assert.equal(unknown.code, 2)
  })
})
