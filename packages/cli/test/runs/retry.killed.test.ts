import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixture, Program, runProgram } from '../support/program.ts'
import { Stage } from '../support/stage.ts'

interface Case {
  /** Finished by the first process. */
  readonly first: string
  /** Runs whenever the process is killed. */
  readonly killed: string
  /** Started after the other was set aside. */
  readonly later?: string
}

const cases: Readonly<Record<string, Case>> = {
  node: { first: 'first', killed: 'second' },
  element: { first: 'map[0]', killed: 'map[1]', later: 'map[2]' },
  step: { first: 'steps run:staged#0', killed: 'steps run:staged#1' },
}

for (const [kind, { first, killed, later }] of Object.entries(cases)) {
  test(`R5: heddle runs retry runs the ${kind} that was set aside after kill -9, and nothing else`, async () => {
    await using stage = await Stage.open()
    const options = { cwd: stage.folder, env: stage.env }
    const args = ['run', fixture('interrupted.ts'), '--key', 'nightly', '--json', '--', kind]
    const finished = [first, ...(later === undefined ? [] : [later])].map((name) =>
      stage.finish(name),
    )
    let deaths = 0
    for (;;) {
      using life = new Program(args, options)
      const start = stage.started(killed).then(() => 'started')
      const event = await Promise.race([start, life.ended()])
      if (event !== 'started') {
        assert.equal(event, 1, life.stderr)
        assert.match(life.stdout, /HDL_NODE_SET_ASIDE/)
        break
      }
      assert.ok(++deaths <= 4, 'it is set aside by the fifth process')
      life.process.kill('SIGKILL')
      assert.equal(await life.ended(), 'SIGKILL')
      await stage.left(killed)
    }
    // The first process resumes nothing: it does not wait until the start is durable.
    assert.ok(deaths >= 3, `${deaths} deaths`)
    await Promise.all(finished)
    const shown = await runProgram(['runs', 'show', 'last'], options)
    assert.match(shown.stdout, /was set aside/)

    const before = stage.starts.length
    using retried = new Program(['runs', 'retry', 'last', '--json'], options)
    await stage.finish(killed)
    assert.equal(await retried.ended(), 0, retried.stderr)
    assert.deepEqual(stage.starts.slice(before), [killed])
    const { ok, failed } = retried.objects.at(-1) as { ok: boolean; failed: object }
    assert.deepEqual([ok, Object.keys(failed)], [true, []])
  })
}
