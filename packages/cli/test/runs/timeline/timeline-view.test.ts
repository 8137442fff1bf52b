import { build, node, picture, placed, plainSurface, surfaceOf, text, told, zero } from '../kit.ts'
import type { Row, Story } from '../kit.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { PlaceName } from '@heddle/core'
import {
  criticalPathOf,
  idleStretches,
  readRecord,
  timedNodes,
  timelineOf,
} from '@heddle/core/lowlevel'
import type { Surface } from '../../../src/runs/with-journal.ts'
import { columnsOf } from '../../../src/runs/timeline/bars.ts'
import { makeScale } from '../../../src/runs/timeline/scale.ts'
import {
  mostAtOnce,
  timelineLines,
  type TimelineInput,
} from '../../../src/runs/timeline/timeline-view.ts'
import { textOf } from '../../../src/text/line.ts'
import { widthOf } from '../../../src/text/terminal-text.ts'

async function inputOf(
  story: Story,
  width: number,
  more: { readonly all?: boolean; readonly surface?: Surface } = {},
): Promise<TimelineInput> {
  await using journal = await told(story)
  const record = await readRecord(journal, '20261115-224501-k3f9q2', { now: zero + 2_000 })
  const criticalPath = await criticalPathOf(timedNodes(record))
  const timeline = timelineOf(record, criticalPath)
  return { record, criticalPath, timeline, width, all: false, surface: surfaceOf(), ...more }
}

test('a small run', async () => {
  assert.equal(
    text(timelineLines(await inputOf(build, 72))),
    picture`
                 ╷0 ms     ╷200 ms   ╷400 ms   ╷600 ms   ╷800 ms
      loop  3 jobs, at most 1 at once
      ◆ ✓ fetch  ███████████                                            200 ms
        ✓ lint             ░░░░░█████✗~~~~██████                        200 ms
      ◆ ✗ upload                                    ███████████████✗    300 ms
      thread  1 job, at most 1 at once
      ◆ ✓ parse            ██████████████████████████                   500 ms

      ░ queued   █ running   ~ waiting to be tried again   ◆ critical path
      critical path 1.0 s of 1.0 s: fetch 200 ms → parse 500 ms → upload
      300 ms
      1 job never ran: notify
    `,
  )
})

test('the same in ASCII, as narrow as it goes', async () => {
  const input = await inputOf(build, 40, { surface: plainSurface })
  assert.equal(
    text(timelineLines(input)),
    picture`
                 |0 ms    |500 ms
      loop  3 jobs, at most 1 at once
      * + fetch  ====                   200 ms
        + lint      ..==x~===           200 ms
      * x upload              =====x    300 ms
      thread  1 job, at most 1 at once
      * + parse     ===========         500 ms

      . queued   = running
      ~ waiting to be tried again
      * critical path
      critical path 1.0 s of 1.0 s: fetch
      200 ms -> parse 500 ms -> upload 300 ms
      1 job never ran: notify
    `,
  )
})

test('a long stretch in which nothing ran is one column', async () => {
  const late = 7_200_000
  const input = await inputOf(
    {
      nodes: [node('a'), node('b')],
      rows: [
        [0, 'a', 'ready'],
        [0, 'a', 'running'],
        [400, 'a', 'succeeded'],
        [late, 'b', 'ready'],
        [late, 'b', 'running'],
        [late + 600, 'b', 'succeeded'],
        [late + 600, 'finished'],
      ],
    },
    60,
  )
  assert.equal(
    text(timelineLines(input)),
    picture`
            ╷0 ms            ┊╷2 h 00 min
      loop  2 jobs, at most 1 at once
        ✓ a █████████████████┊                              400 ms
      ◆ ✓ b                  ┊██████████████████████████    600 ms

      █ running   ◆ critical path   ┊ nothing ran
      ┊ nothing ran for 2 h 00 min from +400 ms
      critical path 600 ms of 2 h 00 min: b 600 ms
    `,
  )
})

/** Many nodes of a few jobs, two of them with something to tell. */
function large(count: number): Story {
  const names = Array.from({ length: count }, (_, i) => `task ${i}`)
  return {
    nodes: names.map((name, i) => ({ ...node(name), job: i % 3 === 0 ? 'parse' : 'fetch' })),
    rows: [
      ...names.flatMap((name, i): Row[] => [
        [i, name, 'ready'],
        [i, name, 'running'],
        i === 17
          ? [i + 30, name, 'failed', { error: 'no' }]
          : [i + 20 + (i % 7), name, 'succeeded'],
      ]),
      [count + 30, 'finished'],
    ],
  }
}

test('more than 60 rows are folded by job; failed and critical rows stay', async () => {
  const lines = text(timelineLines(await inputOf(large(200), 80))).split('\n')
  assert.ok(lines.length < 40, `${lines.length} lines`)
  assert.ok(lines.some((line) => line.startsWith('◆ ✗ task 17 ')))
  assert.ok(lines.some((line) => /^ {4}\d+ fetch +[\d+ ]+/.test(line)))
  assert.ok(lines.some((line) => line === 'folded from 200 rows; --all shows each'))
  const all = text(timelineLines(await inputOf(large(200), 80, { all: true }))).split('\n')
  assert.equal(all.filter((line) => /^[◆ ] \S task \d+ /u.test(line)).length, 200)
})

test('times of many minutes are not cut', async () => {
  const long: Story = {
    nodes: [node('bill')],
    rows: [
      [0, 'bill', 'ready'],
      [0, 'bill', 'running'],
      [12 * 60_000 + 44_000, 'bill', 'succeeded'],
      [12 * 60_000 + 44_000, 'finished'],
    ],
  }
  for (const width of [100, 60]) {
    const lines = timelineLines(await inputOf(long, width)).map(textOf)
    assert.match(
      lines.find((line) => line.includes('bill'))!,
      / 12 min 44 s$/,
    )
  }
})

test('a job that sleeps or waits is drawn as suspended, a map that works is not', async () => {
  const minute = 60_000
  const input = await inputOf(
    {
      nodes: [node('order'), { ...node('rows'), grows: 'map' }],
      rows: [
        [0, 'order', 'ready'],
        [0, 'order', 'running'],
        [0, 'rows', 'ready'],
        [0, 'rows', 'running'],
        [0, 'rows', 'suspended'],
        [2 * minute, 'order', 'suspended'],
        [8 * minute, 'order', 'running'],
        [10 * minute, 'order', 'succeeded'],
        [10 * minute, 'rows', 'running'],
        [10 * minute, 'rows', 'succeeded'],
        [10 * minute, 'finished'],
      ],
    },
    52,
  )
  const lines = timelineLines(input).map((line) => textOf(line).trimEnd())
  assert.match(
    lines.find((line) => line.includes(' order '))!,
    /order ██████┄{16,}█{6,} +10 min/,
  )
  assert.match(
    lines.find((line) => line.includes(' rows '))!,
    /rows {2}█{20,} +10 min/,
  )
  assert.ok(lines.some((line) => line.includes('┄ suspended')))
})

test('nothing to draw', async () => {
  assert.equal(text(timelineLines(await inputOf({ nodes: [], rows: [] }, 80))), 'Nothing has run.')
})

test('the number of simultaneous attempts is computed', async () => {
  const { timeline } = await inputOf(build, 80)
  assert.equal(mostAtOnce(timeline.rows), 2)
  assert.equal(mostAtOnce([]), 0)
})

/** Runs of any shape: names of any length and script, times that tie, jump and leave gaps. */
const stories = fc
  .array(
    fc.record({
      name: fc.oneof(
        fc.string({ minLength: 1, maxLength: 40 }),
        fc.constantFrom('漢字', '👩‍👩‍👧‍👦 family', 'é'),
      ),
      place: fc.constantFrom<PlaceName>('loop', 'thread', 'fleet'),
      queued: fc.oneof(fc.nat({ max: 50 }), fc.nat({ max: 1e7 })),
      waits: fc.nat({ max: 100 }),
      runs: fc.oneof(fc.constant(0), fc.nat({ max: 5_000 })),
      ends: fc.constantFrom('succeeded', 'failed', 'cancelled', 'running', 'ready', 'retrying'),
    }),
    { minLength: 1, maxLength: 90 },
  )
  .map((plans): Story => {
    const rows: Row[] = plans.flatMap(({ name, queued, waits, runs, ends }, i): Row[] => {
      const own = `${name}${i}`
      const start = queued + waits
      const steps: Row[] = [[queued, own, 'ready']]
      if (ends === 'ready') return steps
      steps.push([start, own, 'running'])
      if (ends === 'running') return steps
      const error = { error: 'no', ...(ends === 'retrying' && { attempt: 1, delay: 10 }) }
      steps.push([start + runs, own, ends, ends === 'succeeded' ? {} : error])
      return steps
    })
    return {
      nodes: plans.map(({ name, place }, i) => placed(place, `${name}${i}`)),
      rows: rows.sort((a, b) => a[0] - b[0]),
    }
  })

test('property: never wider than the width, every bar in its range, every attempt seen', async () => {
  await fc.assert(
    fc.asyncProperty(
      stories,
      fc.integer({ min: 40, max: 200 }),
      fc.boolean(),
      async (story, width, all) => {
        const surface = all ? plainSurface : surfaceOf()
        const input = await inputOf(story, width, { all, surface })
        const lines = timelineLines(input)
        for (const line of lines) assert.ok(widthOf(textOf(line)) <= width, textOf(line))
        const { timeline } = input
        if (all && timeline.rows.length > 0) {
          // The axis, the rows and the lanes' titles, then the notes.
          const end = lines.findIndex((line) => textOf(line) === '')
          const lanes = new Set(timeline.rows.map(({ place }) => place)).size
          assert.equal(end, 1 + lanes + timeline.rows.length)
        }
        const scale = makeScale(timeline.length, idleStretches(timeline), Math.max(8, width - 30))
        for (const { spans } of timeline.rows) {
          let last = 0
          for (const span of spans) {
            assert.ok(span.from >= last && span.to >= span.from && span.to <= timeline.length)
            last = span.to
            const [first, end] = columnsOf(span, scale)
            assert.ok(first >= 0 && first < end && end <= scale.columns)
            if (span.kind === 'run') {
              assert.ok(!scale.gaps.some(({ column }) => column === first), 'hidden behind a gap')
            }
          }
        }
      },
    ),
    { numRuns: 150 },
  )
})
