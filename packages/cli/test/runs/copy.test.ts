import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { openJournal } from '@heddle/core/lowlevel'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { Client } from 'pg'
import { fixture, Program, runProgram } from '../support/program.ts'
import { Stage } from '../support/stage.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

test('copy takes runs over to PostgreSQL, once, and `heddle runs` shows them there', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  for (let count = 0; count < 2; count++) {
    assert.equal((await runProgram(['run', fixture('mixed.ts'), '--quiet'], options)).code, 0)
  }
  const from = 'sqlite:.heddle/runs.db'
  const to = `${postgres.address}?schema=cli_copy`
  const list = async (journal: string): Promise<string[]> => {
    const { stdout, stderr } = await runProgram(['runs', '--json', '-j', journal], options)
    assert.equal(stderr, '')
    return (JSON.parse(stdout) as { runs: { id: string }[] }).runs.map(({ id }) => id)
  }
  const done = await runProgram(['runs', 'copy', from, to], options)
  assert.equal(done.code, 0, done.stderr)
  assert.match(done.stdout, /Copied 2 runs \(\d+ rows, \d+ results\) from sqlite:/)
  assert.ok(!done.stdout.includes(new URL(postgres.address).password), 'the password is not shown')
  assert.deepEqual(await list(to), await list(from))
  const shown = await runProgram(['runs', 'show', 'last', '-j', to], options)
  assert.equal(shown.code, 0, shown.stderr)
  const again = await runProgram(['runs', 'copy', from, to, '--json'], options)
  const answer = JSON.parse(again.stdout) as Record<string, unknown>
  assert.deepEqual([answer['ok'], answer['copied'], answer['present']], [true, 0, 2])
})

test('copy says which run another process is copying, and copies it when it is called again', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  assert.equal((await runProgram(['run', fixture('mixed.ts'), '--quiet'], options)).code, 0)
  const from = 'sqlite:.heddle/runs.db'
  const to = `${postgres.address}?schema=cli_copy_beside`
  await using source = await openJournal(path.join(stage.folder, '.heddle/runs.db'), {
    readOnly: true,
  })
  const [found] = await source.runs()
  const id = found!.id
  await using target = await openJournal(to)
  {
    await using _beside = await target.restoreRun!(await source.overview(id))
    const first = await runProgram(['runs', 'copy', from, to], options)
    assert.equal(first.code, 1, first.stdout)
    assert.match(first.stdout, new RegExp(`copying them: ${id}. Call it again`))
    assert.ok(!first.stdout.includes('there already'), first.stdout)
  }
  const again = await runProgram(['runs', 'copy', from, to, '--json'], options)
  const answer = JSON.parse(again.stdout) as Record<string, unknown>
  assert.deepEqual([again.code, answer['copied'], answer['unfinished']], [0, 1, []])
})

test('copy says that it waits for a copy that was cut off', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  assert.equal((await runProgram(['run', fixture('mixed.ts'), '--quiet'], options)).code, 0)
  const from = 'sqlite:.heddle/runs.db'
  const to = `${postgres.address}?schema=cli_copy_cut`
  await (await openJournal(to)).stop()
  await using source = await openJournal(path.join(stage.folder, '.heddle/runs.db'), {
    readOnly: true,
  })
  const id = (await source.runs())[0]!.id
  const dead = spawnSync(process.execPath, ['--version']).pid
  const holder = `${hostname()}/${dead}/x`
  const admin = new Client({ connectionString: postgres.address })
  await admin.connect()
  try {
    await admin.query(
      `SELECT cli_copy_cut.hold_1('${holder}', 86400000);
        SELECT cli_copy_cut.restore_run_2('${id}', NULL, 't', 0, 1::smallint, 1, 'h', 'c', '', '${holder}')`,
    )
    using program = new Program(['runs', 'copy', from, to], options)
    await once(program.process.stderr!, 'data')
    assert.match(program.stderr, new RegExp(`^Waiting up to .* for run ${id}: .*pid ${dead} on`))
    await admin.query(`SELECT cli_copy_cut.hold_1('${holder}', 0)`)
    assert.equal(await program.ended(), 0, program.stderr)
    assert.match(program.stdout, /^Copied 1 run /)
  } finally {
    await admin.end()
  }
})

test('copy refuses a target that is not PostgreSQL, and a source that is not there', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  assert.equal((await runProgram(['run', fixture('mixed.ts'), '--quiet'], options)).code, 0)
  const file = await runProgram(['runs', 'copy', 'sqlite:.heddle/runs.db', 'sqlite:b.db'], options)
  assert.equal(file.code, 2)
  assert.match(file.stderr, /copied to PostgreSQL only/)
  assert.ok(!existsSync(path.join(stage.folder, 'b.db')), 'what was refused has made a file')
  const absent = await runProgram(['runs', 'copy', 'sqlite:no.db', 'sqlite:b.db'], options)
  assert.equal(absent.code, 2)
})
