import assert from 'node:assert/strict'
import test from 'node:test'
import { formatDuration } from '../../src/text/format.ts'
import { fixture, Program, runProgram } from '../support/program.ts'
import { Stage } from '../support/stage.ts'

interface Path {
  readonly length: number
  readonly path: readonly { readonly name: string; readonly ms: number }[]
}

interface RunResult {
  readonly run: string
  readonly duration: number
  readonly criticalPath: Path
  readonly reused: readonly string[]
}

const sameMs = (a: number, b: number): void => assert.ok(Math.abs(a - b) < 0.01, `${a}, ${b}`)
const last = (program: Program): unknown => program.objects.at(-1)

test('one duration and one critical path of a run that was killed and resumed, in every view', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  const file = fixture('staged.ts')
  const graph = ['--', 'fetch', 'parse:fetch', 'store:parse', 'note']
  using killed = new Program(['run', file, '--json', ...graph], options)
  await stage.finish('note')
  // No job depends on it: only once it is reported is its success on the disk.
  await killed.printed(/"name":"note","state":"succeeded"/)
  await stage.finish('fetch')
  await stage.started('parse')
  killed.process.kill('SIGKILL')
  await killed.ended()
  await stage.left('parse')

  using resumed = new Program(['run', file, '--resume', '--json', ...graph], options)
  await stage.finish('parse')
  await stage.finish('store')
  assert.equal(await resumed.ended(), 0)
  const { run, duration, criticalPath, reused } = last(resumed) as RunResult
  assert.deepEqual([...reused].sort(), ['fetch', 'note'])
  // Nodes that the first process has run are part of it.
  assert.deepEqual(
    criticalPath.path.map(({ name }) => name),
    ['fetch', 'parse', 'store'],
  )
  const took = formatDuration(duration)
  const critical = formatDuration(criticalPath.length)
  // The summary of the resumed run is on standard errors.
  assert.ok(resumed.stderr.includes(` in ${took}`), resumed.stderr)
  assert.ok(resumed.stderr.includes(`critical path ${critical}: fetch `), resumed.stderr)

  const [listed] = (
    last(await runProgram(['runs', '--json'], options)) as {
      runs: { elapsed: number; startedAt: number; endedAt: number }[]
    }
  ).runs
  sameMs(listed!.elapsed, duration)
  // The time without the pause in which no process ran it.
  assert.ok(listed!.elapsed < listed!.endedAt - listed!.startedAt)
  const list = await runProgram(['runs'], options)
  assert.ok(list.stdout.includes(`  ${took}  4 done`), list.stdout)

  for (const view of ['show', 'timeline']) {
    const json = last(await runProgram(['runs', view, run, '--json'], options)) as {
      elapsed: number
      criticalPath: Path
    }
    sameMs(json.elapsed, duration)
    sameMs(json.criticalPath.length, criticalPath.length)
    const text = (await runProgram(['runs', view, run], options)).stdout
    assert.ok(text.includes(took), text)
    assert.match(text, new RegExp(`critical path +${critical}`))
  }

  // Asked for again: the recorded result.
  const recorded = await runProgram(['run', file, '--resume', run, '--json', ...graph], options)
  sameMs((last(recorded) as RunResult).duration, duration)
  assert.deepEqual((last(recorded) as RunResult).criticalPath, criticalPath)

  using ui = new Program(['ui', '--port', '0', '--json'], options)
  const [, url] = await ui.printed(/"url":"(http:\/\/[^/]+)\//)
  const ask = async (path: string): Promise<unknown> => (await fetch(`${url}${path}`)).json()
  const { runs } = (await ask('/runs')) as { runs: { elapsed_ms: number }[] }
  sameMs(runs[0]!.elapsed_ms, duration)
  const head = (await ask(`/runs/${run}`)) as {
    elapsed_ms: number
    critical_path: { length_ms: number; nodes: { name: string }[] }
  }
  sameMs(head.elapsed_ms, duration)
  sameMs(head.critical_path.length_ms, criticalPath.length)
  assert.deepEqual(
    head.critical_path.nodes.map(({ name }) => name),
    ['fetch', 'parse', 'store'],
  )
})
