import {
  build,
  node,
  picture,
  plainSurface,
  surfaceOf,
  text,
  told,
  zero,
  type Story,
} from './kit.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { criticalPathOf, readRecord, timedNodes } from '@heddle/core/lowlevel'
import { logLines, showLines, type ShowInput } from '../../src/runs/show-view.ts'

const id = '20261115-224501-k3f9q2'

async function inputOf(
  story: Story,
  more: Partial<ShowInput> = {},
  at?: number,
): Promise<ShowInput> {
  await using journal = await told(story)
  const now = zero + 200_000
  const rows = await Array.fromAsync(journal.history(id))
  const position = rows.findLast((row) => row.at <= zero + (at ?? Infinity))!.position
  const upTo = at === undefined ? {} : { upTo: { position, at: zero + at } }
  const record = await readRecord(journal, id, { now, log: true, ...upTo })
  const criticalPath = await criticalPathOf(timedNodes(record))
  return { record, criticalPath, isPast: at !== undefined, surface: surfaceOf(), ...more }
}

test('a run that failed: header, jobs, errors of all attempts', async () => {
  assert.equal(
    text(showLines(await inputOf(build), false)),
    picture`
      ✗ build.ts  failed
        run            20261115-224501-k3f9q2 in sqlite:runs.db
        started        2026-11-15 22:45:01, 3 min ago
        took           1.0 s
        command        heddle run build.ts -c 2  (pid 4711 on loom)
        limits         concurrency 2, retries 1
        jobs           1 failed, 1 blocked, 3 done
        critical path  1.0 s: fetch 200 ms → parse 500 ms → upload 300 ms
        resume with    heddle run build.ts -c 2 --resume 20261115-224501-k3f9q2
        rows           1 to 20

        NODE    PLACE   ATTEMPTS  QUEUED     RAN
      ✓ fetch   loop           1   10 ms  200 ms  ◆
      ✓ parse   thread         1    0 ms  500 ms  ◆
      ✓ lint    loop           2  110 ms  200 ms
      ✗ upload  loop           1    0 ms  300 ms  ◆ failed
      ⊘ notify  loop                              blocked by "upload"

        ✓ lint  1 attempt failed, then it succeeded
            busy

        ✗ upload
            TypeError: answered 503
    `,
  )
})

test('time travel: the same run, 450 ms after its start, in ASCII', async () => {
  const input = await inputOf(build, { surface: plainSurface }, 450)
  assert.equal(
    text(showLines(input, false)),
    picture`
      * build.ts  running
        as of          row 11, +450 ms; rows 1 to 20
        run            20261115-224501-k3f9q2 in sqlite:runs.db
        started        2026-11-15 22:45:01, 3 min ago
        so far         450 ms
        command        heddle run build.ts -c 2  (pid 4711 on loom)
        limits         concurrency 2, retries 1
        jobs           1 running, 1 retrying, 2 waiting, 1 done
        critical path  200 ms: fetch 200 ms

        NODE    PLACE   ATTEMPTS  QUEUED     RAN
      + fetch   loop           1   10 ms  200 ms  *
      * parse   thread         1    0 ms  240 ms  running
      ~ lint    loop           1  100 ms  100 ms  retrying
      o upload  loop                              waiting
      o notify  loop                              waiting

        ~ lint
            busy
    `,
  )
})

test('only the notable nodes of a large graph are shown, unless all are requested', async () => {
  const names = Array.from({ length: 200 }, (_, i) => `n${i}`)
  const input = await inputOf({
    nodes: names.map((name) => node(name)),
    rows: names.flatMap((name, i) => [
      [0, name, 'ready'] as const,
      [0, name, 'running'] as const,
      i === 7
        ? ([i, name, 'failed', { error: 'seven' }] as const)
        : ([i, name, 'succeeded'] as const),
    ]),
  })
  const lines = text(showLines(input, false))
  assert.match(lines, /✗ n7 /)
  assert.match(lines, /✓ n199 /)
  assert.match(lines, /and 186 more jobs; --all shows them/)
  const all = text(showLines(input, true)).split('\n')
  assert.equal(all.filter((line) => /^[✓✗] n\d+/.test(line)).length, 200)
})

test('log lines of jobs, with the time since the start', async () => {
  const story: Story = {
    nodes: [node('a')],
    rows: [
      [12, 'a', 'log', 'one\ntwo \u001b[2Jthree'],
      [1_500, 'a', 'log', 'four'],
    ],
  }
  const input = await inputOf(story)
  assert.equal(
    text(logLines(input.record.log, input)),
    picture`

        LOG
        +12 ms  a: one
                a: two three
        +1.5 s  a: four
    `,
  )
  assert.match(text(logLines([], input)), /Nothing was logged\./)
})
