import assert from 'node:assert/strict'
import test from 'node:test'
import { Graph, HeddleError, job, startRun, type GraphResult } from '@heddle/core'
import { VirtualClock } from '@heddle/core/testing'
import { seededRandom } from '@heddle/core/lowlevel'
import { failedElements } from '../../src/output/failed-elements.ts'
import { failureLines, summaryLines, type SummaryInput } from '../../src/output/run-summary.ts'
import { textOf } from '../../src/text/line.ts'
import { unicodeSymbols } from '../../src/text/symbols.ts'

const path = { length: 0, path: [], slackOf: () => undefined }

function summarize(result: GraphResult, more: Partial<SummaryInput> = {}): string[] {
  const input: SummaryInput = {
    title: 'nightly.ts',
    result,
    criticalPath: path,
    longestGap: 3.4,
    gap: undefined,
    journal: undefined,
    resume: undefined,
    failedElements: [],
    symbols: unicodeSymbols,
    ...more,
  }
  return summaryLines(input).map((line) => textOf(line).trimEnd())
}

test('failures come with the errors of all attempts, the place of the throw and the repair', async () => {
  const clock = new VirtualClock()
  const g = new Graph()
  g.add(
    'fine',
    job({ name: 'fine' }, () => 1),
  )
  const bad = g.add(
    'bad',
    job({ name: 'bad' }, (_: undefined, { attempt }) => {
      if (attempt < 2) throw new Error(`attempt ${attempt}\nwith details`)
      throw new HeddleError('HDL_CLOSED', { what: 'The door' }, { cause: new Error('it was late') })
    }),
  )
  for (let i = 0; i < 10; i++)
    g.add(
      `behind ${i}`,
      job({ name: 'behind' }, () => 1),
      { after: [bad] },
    )
  const { result, scheduler } = await startRun(g, {
    retries: 5,
    kernel: { clock, random: seededRandom(1) },
  })
  const ended = await clock.runUntil(result)
  const lines = summarize(ended, {
    criticalPath: await scheduler.criticalPath(),
    gap: { ms: 60, blame: 'job "x"', byJob: true },
    longestGap: 60,
    journal: 'sqlite:runs.db',
    resume: 'heddle run x.ts --resume r1',
  })
  assert.match(lines[1]!, /^✗ nightly\.ts: 1 failed, 10 blocked, 1 succeeded in /)
  assert.deepEqual(lines.slice(3, 9), [
    '  ✗ bad  3 attempts',
    '      1. attempt 0',
    '         with details',
    '      2. attempt 1',
    '         with details',
    '      3. The door is closed.',
  ])
  assert.match(lines[9]!, /^ {9}at .*summary\.test\.ts:\d+:\d+/)
  assert.ok(lines.includes('         caused by: it was late'))
  assert.ok(lines.includes('         Your code closed it: do not use it afterwards.'))
  assert.ok(
    lines.includes(
      '  ⊘ 10 jobs blocked by "bad": behind 0, behind 1, behind 2, behind 3, behind 4, behind 5, behind 6, behind 7 and 2 more',
    ),
  )
  assert.match(lines.at(-4)!, /^ {2}critical path .*: bad /)
  assert.equal(lines.at(-3), '  event loop    stood still for 60 ms: job "x"')
  assert.match(lines.at(-2)!, /place: 'thread' takes such work off it/)
  assert.equal(lines.at(-1), '  resume with   heddle run x.ts --resume r1')
})

test('a good run is short; a cancelled one is never good', async () => {
  const g = new Graph()
  g.add(
    'a',
    job({ name: 'a' }, () => 1),
  )
  const good = await (await startRun(g)).result
  const lines = summarize(good)
  assert.match(lines[1]!, /^✓ nightly\.ts: 1 succeeded in /)
  assert.equal(lines.at(-1), '  event loop    stayed free: nothing held it up for longer than 3 ms')
  const busy = summarize(good, { gap: { ms: 60, blame: 'emit (node:events)', byJob: false } })
  assert.equal(busy.at(-1)!.trim(), 'nothing else ran during that time')
  const run = await startRun(g, { signal: AbortSignal.abort() })
  const cancelled = summarize(await run.result)
  assert.match(cancelled[1]!, /^⊗ nightly\.ts: cancelled: /)
  const empty = await (await startRun(new Graph())).result
  assert.match(summarize(empty)[1]!, /^✓ nightly\.ts: no jobs in /)
})

test("text in a job's error cannot break the terminal", async () => {
  const g = new Graph()
  g.add(
    'a\u001b[2J',
    job({ name: 'a' }, () => {
      throw new Error('x\u001b]0;title\u0007\u001b[Hy')
    }),
  )
  const text = summarize(await (await startRun(g)).result).join('\n')
  assert.ok(!text.includes('\u001b'))
  assert.match(text, /xy/)
})

test('a long critical path shows its longest nodes, in order', () => {
  const nodes = Array.from({ length: 30 }, (_, i) => ({
    name: `n${i}`,
    ms: i % 3 === 0 ? 1_000 + i : 1,
  }))
  const result = {
    ok: true,
    state: 'finished',
    failed: new Map(),
    blocked: new Map(),
    cancelled: [],
    skipped: [],
    reused: ['r'],
    succeeded: ['s'],
    errors: new Map(),
    duration: 5,
    run: 'r1',
  } as unknown as GraphResult
  const lines = summarize(result, {
    criticalPath: { ...path, length: 10_000, path: nodes },
    journal: 'memory',
  })
  const shown = lines.find((line) => line.includes('critical path'))!
  assert.match(shown, /10 s: … → n6 1\.0 s → … → n9 1\.0 s/)
  assert.match(lines[1]!, /2 succeeded \(1 reused\) in 5 ms/)
  assert.equal(lines.at(-1), '  run           r1 in memory')
})

test('an error that stands for several is listed with them, and thrown objects are shown', async () => {
  const g = new Graph()
  const parts = [new Error('refused'), { code: 5 }]
  g.add(
    'net',
    job({ name: 'net' }, () => {
      throw new AggregateError(parts, 'All promises were rejected')
    }),
  )
  const thrown: unknown = { code: 7 }
  g.add(
    'odd',
    job({ name: 'odd' }, () => {
      throw thrown
    }),
  )
  const { result } = await startRun(g)
  const lines = summarize(await result)
  assert.ok(lines.includes('      AggregateError: All promises were rejected'), lines.join('\n'))
  assert.ok(lines.includes('      one of 2: refused'), lines.join('\n'))
  assert.ok(lines.includes('      one of 2: { code: 5 }'), lines.join('\n'))
  assert.ok(lines.includes('      { code: 7 }'), lines.join('\n'))
})

test('a job that ignored the abort is not listed as stopped', async () => {
  const clock = new VirtualClock()
  const g = new Graph()
  g.add(
    'deaf',
    job({ name: 'deaf' }, () => new Promise(() => {})),
  )
  const { result, scheduler } = await startRun(g, { kernel: { clock, random: seededRandom(1) } })
  await clock.advance(0)
  scheduler.cancel({ abort: true })
  const lines = summarize(await clock.runUntil(result))
  assert.ok(
    lines.includes('  ⊗ 1 job ignored the abort and may still be running: deaf'),
    lines.join('\n'),
  )
  assert.ok(!lines.some((line) => line.includes('job stopped')), lines.join('\n'))
})

test('the error of an element is said once, with the line that threw it and its attempts', async () => {
  const g = new Graph()
  const broken = job({ name: 'broken', retries: 1, retryBaseDelay: 0 }, (n: number) => {
    if (n === 2) throw new Error('two is bad')
    return n
  })
  g.map('all', broken, { over: () => [1, 2] })
  const { result } = await startRun(g)
  const lines = summarize(await result)
  const at = lines.indexOf('      Element 1 of "all" failed after 2 attempts: two is bad.')
  assert.ok(at > 0, lines.join('\n'))
  assert.match(lines[at + 1]!, /^ {6}at .*summary\.test\.ts:\d+:\d+/)
  assert.equal(lines.filter((line) => line.includes('two is bad')).length, 1)
})

test('a failed element has the help of its own error before that of its map', () => {
  const cause = new HeddleError('HDL_STEP_NOT_AWAITED', { node: 'each[0]', step: 'sleep' })
  const details = { node: 'each', element: '0', failed: 1, cause: cause.message }
  const error = new HeddleError('HDL_ELEMENT_FAILED', details, { cause })
  const helps = failureLines(error, '', true).map(textOf).slice(-2)
  assert.deepEqual(
    helps.map((line) => line.trim()),
    [cause.help, error.help],
  )
})

test('elements that failed in a map that succeeded are counted, the first with their errors', async () => {
  const graph = new Graph()
  const check = job({ name: 'check' }, (n: number) => {
    if (n % 2 === 1) throw new RangeError(`${n} is odd`)
    return n
  })
  const over = (): number[] => Array.from({ length: 10 }, (_, i) => i)
  graph.map('rows', check, { over, failures: 'collect' })
  graph.map('counted', check, { over, failures: { atMost: 5 }, collect: false })
  graph.map('stopped', check, { over })
  graph.map('fine', check, { over: () => [2], failures: 'collect' })
  const { result } = await startRun(graph)
  const ended = await result
  const lines = summarize(ended, { failedElements: failedElements(graph, ended) })
  const at = lines.findIndex((line) => line.includes('5 of 10 elements failed'))
  assert.deepEqual(lines.slice(at, at + 7), [
    '  ! rows: 5 of 10 elements failed; the map has collected them',
    '      [1] RangeError: 1 is odd',
    '      [3] RangeError: 3 is odd',
    '      [5] RangeError: 5 is odd',
    '      and 2 more',
    '  ! counted: 5 of 10 elements failed; the map has collected them',
    '',
  ])
})
