/** `heddle run`, `heddle runs` and `heddle doctor` on PostgreSQL. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { runProgram } from '../support/program.ts'

let postgres: TestDatabase
let cwd: string
before(async () => {
  postgres = await openDatabase()
  // Inside of the checkout, so that the module finds the packages.
  cwd = mkdtempSync(path.join(import.meta.dirname, '.postgres-'))
  writeFileSync(
    path.join(cwd, 'weave.ts'),
    `import { Graph, job } from '@heddle/core'
    const warp = job({ name: 'warp' }, async () => 'x'.repeat(100_000))
    const weft = job({ name: 'weft', retries: 0 }, async () => {
      if (process.env.BREAK === 'yes') throw new Error('torn')
      return 7
    })
    const graph = new Graph()
    const first = graph.add('warp', warp)
    graph.add('weft', weft, { after: [first] })
    export default graph
    `,
  )
})
after(async () => {
  rmSync(cwd, { recursive: true, force: true })
  await postgres[Symbol.asyncDispose]()
})

test('a run on PostgreSQL is recorded, listed, shown and resumed; its password is nowhere', async () => {
  const { address } = postgres
  const { password } = new URL(address)
  const journal = ['--journal', address]
  const failed = await runProgram(['run', 'weave.ts', ...journal, '--json'], {
    cwd,
    env: { BREAK: 'yes' },
  })
  assert.equal(failed.code, 1, failed.stderr)
  const { run } = failed.objects.at(-1) as unknown as { run: string }

  const resumed = await runProgram(['run', 'weave.ts', ...journal, '--resume', '--json'], { cwd })
  assert.equal(resumed.code, 0, resumed.stderr)
  const result = resumed.objects.at(-1) as unknown as { run: string; succeeded: string[] }
  assert.equal(result.run, run)
  assert.deepEqual(result.succeeded.toSorted(), ['warp', 'weft'])

  const listed = await runProgram(['runs', 'list', ...journal], { cwd })
  assert.equal(listed.code, 0, listed.stderr)
  assert.match(listed.stdout, new RegExp(run))
  const shown = await runProgram(['runs', 'show', 'last', ...journal, '--json'], { cwd })
  assert.equal(shown.code, 0, shown.stderr)

  for (const { stdout, stderr } of [failed, resumed, listed, shown]) {
    assert.ok(!stdout.includes(password) && !stderr.includes(password), 'the password is shown')
  }
  const wrong = await runProgram(['runs', 'list', '--journal', 'postgres://u:pw-x@127.0.0.1:1/d'], {
    cwd,
  })
  assert.equal(wrong.code, 2)
  assert.doesNotMatch(wrong.stderr + wrong.stdout, /pw-x/)
})

test('parts missing from the address come from the environment, as for every program that uses pg', async () => {
  const { hostname, port, username, password, pathname } = new URL(postgres.address)
  const env = {
    PGHOST: hostname,
    PGPORT: port,
    PGUSER: username,
    PGPASSWORD: password,
    PGDATABASE: pathname.slice(1),
  }
  const journal = 'postgres://?schema=from_env'
  const ran = await runProgram(['run', 'weave.ts', '--journal', journal, '--json'], { cwd, env })
  assert.equal(ran.code, 0, ran.stderr)
})

test('doctor checks version, rights, clock and durability of a PostgreSQL', async () => {
  const { code, objects } = await runProgram(['doctor', '--json', '--journal', postgres.address], {
    cwd: os.tmpdir(),
  })
  const [{ checks }] = objects as unknown as [
    { checks: { name: string; ok: boolean; found: string }[] },
  ]
  const of = (name: string): { ok: boolean; found: string } =>
    checks.find((check) => check.name === name)!
  assert.deepEqual([of('postgres').ok, of('rights').ok, of('clock').ok], [true, true, true])
  // The cluster of the tests has fsync turned off.
  assert.match(of('durability').found, /fsync = off/)
  assert.equal(code, 1)
  const away = await runProgram(['doctor', '--journal', 'postgres://u:pw-x@127.0.0.1:1/d'], {
    cwd: os.tmpdir(),
  })
  assert.equal(away.code, 1)
  assert.match(away.stdout, /✗ postgres .*\n +Check the address/)
  assert.doesNotMatch(away.stdout, /pw-x/)
})
