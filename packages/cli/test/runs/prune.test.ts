import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixture, runProgram } from '../support/program.ts'
import { Stage } from '../support/stage.ts'

test('C12: prune lists what it would remove, and removes it with --yes; data of remaining runs stays', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  for (let i = 0; i < 3; i++) {
    assert.equal((await runProgram(['run', fixture('mixed.ts'), '--quiet'], options)).code, 0)
  }
  const list = async (): Promise<string[]> => {
    const { stdout } = await runProgram(['runs', '--json'], options)
    return (JSON.parse(stdout) as { runs: { id: string }[] }).runs.map(({ id }) => id)
  }
  const before = await list()
  assert.equal(before.length, 3)
  const dry = await runProgram(['runs', 'prune', '--keep', '1'], options)
  assert.equal(dry.code, 0, dry.stderr)
  assert.match(dry.stdout, /Would remove 2 runs, about .*B\. Nothing was removed: add --yes/)
  assert.ok(dry.stdout.includes(before[1]!) && !dry.stdout.includes(before[0]!))
  assert.deepEqual(await list(), before)
  const done = await runProgram(['runs', 'prune', '--keep', '1', '--yes', '--json'], options)
  const answer = JSON.parse(done.stdout) as {
    ok: boolean
    removed: boolean
    runs: { id: string }[]
  }
  assert.deepEqual([answer.ok, answer.removed], [true, true])
  assert.deepEqual(
    answer.runs.map(({ id }) => id),
    before.slice(1),
  )
  assert.deepEqual(await list(), before.slice(0, 1))
  const none = await runProgram(['runs', 'prune', '--older-than', '1d', '--yes'], options)
  assert.match(none.stdout, /There is no run to remove in /)
  const unbounded = await runProgram(['runs', 'prune'], options)
  assert.equal(unbounded.code, 2)
  assert.match(unbounded.stderr, /expected --older-than AGE, --keep N or --max-size SIZE/)
})
