import { plainSurface, surfaceOf, text, picture, zero } from './kit.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openJournal, type RunSummary } from '@heddle/core/lowlevel'
import { textOf } from '../../src/text/line.ts'
import { listLines, selectRuns } from '../../src/runs/list.ts'

function summary(more: Partial<RunSummary>): RunSummary {
  return {
    id: '20261115-224501-k3f9q2',
    title: 'build.ts',
    startedAt: zero,
    state: 'finished',
    pid: 1,
    host: 'loom',
    command: 'heddle run build.ts -c 2',
    counts: { succeeded: 8 },
    ...more,
  }
}

const runs = [
  summary({
    id: '20261115-224812-zz7w1b',
    startedAt: zero + 191_000,
    state: 'running',
    counts: { running: 2, waiting: 6 },
  }),
  summary({ endedAt: zero + 90_000, elapsed: 3_400 }),
  summary({
    endedAt: zero + 12_000,
    elapsed: 12_000,
    title: 'nightly \u001b[31mreport',
    counts: { succeeded: 5, failed: 1, blocked: 2 },
  }),
  summary({
    state: 'interrupted',
    startedAt: zero - 90_000_000,
    counts: { succeeded: 5, running: 3 },
  }),
]

test('newest first, and an interrupted run comes with the command that resumes it', () => {
  assert.equal(
    text(listLines(runs, { state: undefined, more: true }, surfaceOf())),
    picture`
      RUN                     TITLE           STATE          STARTED                          TOOK  JOBS
      20261115-224812-zz7w1b  build.ts        ● running      2026-11-15 22:48:12  9 s ago    > 9 s  2 running, 6 waiting
      20261115-224501-k3f9q2  build.ts        ✓ succeeded    2026-11-15 22:45:01  3 min ago  3.4 s  8 done
      20261115-224501-k3f9q2  nightly report  ✗ failed       2026-11-15 22:45:01  3 min ago   12 s  1 failed, 2 blocked, 5 done
      20261115-224501-k3f9q2  build.ts        ! interrupted  2026-11-14 21:45:01  1 day ago      ?  3 running, 5 done
                              resume with: heddle run build.ts -c 2 --resume 20261115-224501-k3f9q2
      The newest 4; --limit 20 shows more.
    `,
  )
})

test('a narrow terminal shows no times; outcome and command are complete', () => {
  const narrow = listLines(
    runs,
    { state: undefined, more: false },
    { ...plainSurface, columns: 80 },
  )
  assert.equal(
    text(narrow),
    picture`
      RUN                     TITLE     STATE          JOBS
      20261115-224812-zz7w1b  build.ts  * running      2 running, 6 waiting
      20261115-224501-k3f9q2  build.ts  + succeeded    8 done
      20261115-224501-k3f9q2  nightly~  x failed       1 failed, 2 blocked, 5 done
      20261115-224501-k3f9q2  build.ts  ! interrupted  3 running, 5 done
                              resume with: heddle run build.ts -c 2 --resume 20261115-224501-k3f9q2
    `,
  )
})

test('60 columns: where the counts do not fit, running nodes are shown beside the outcome', () => {
  const narrow = listLines(
    runs,
    { state: undefined, more: false },
    { ...plainSurface, columns: 60 },
  )
  const lines = narrow.map((line) => textOf(line))
  assert.match(lines[0]!, /^RUN +TITLE +STATE/)
  assert.match(lines[3]!, /k3f9q2 {2}nightly~? .*x failed/)
  for (const line of lines.filter((each) => !each.includes('resume with'))) {
    assert.ok(line.length <= 60, line)
  }
})

test('40 columns: the id, and how the run ended', () => {
  const lines = listLines(
    runs.slice(0, 2),
    { state: undefined, more: false },
    { ...plainSurface, columns: 40 },
  )
  assert.equal(
    text(lines),
    picture`
      RUN                     STATE
      20261115-224812-zz7w1b  * running
      20261115-224501-k3f9q2  + succeeded
    `,
  )
})

test('an empty list says so', () => {
  const empty = (state: 'failed' | undefined): string =>
    text(listLines([], { state, more: false }, surfaceOf()))
  assert.equal(empty(undefined), 'There is no run in sqlite:runs.db.')
  assert.equal(empty('failed'), 'There is no run that is failed in sqlite:runs.db.')
})

test('a run that failed is found behind a thousand that succeeded', async () => {
  await using journal = await openJournal('memory')
  const write = async (id: string, state: 'succeeded' | 'failed'): Promise<void> => {
    const { title, startedAt, pid, host, command } = summary({})
    const nodes = [{ name: 'a', job: 'a', place: 'loop', after: [] } as const]
    const options = {}
    const header = { id, title, startedAt, pid, host, command, options, nodes }
    await using writer = await journal.openRun(header)
    writer.append({ node: 'a', state, attempt: 0, at: startedAt })
    writer.setState('finished', startedAt)
  }
  await write('old', 'failed')
  for (let n = 0; n < 1_001; n++) await write(`run ${n}`, 'succeeded')
  const failed = await selectRuns(journal, { state: 'failed', limit: 2 })
  assert.deepEqual(
    failed.map(({ id }) => id),
    ['old'],
  )
  const succeeded = await selectRuns(journal, { state: 'succeeded', limit: 1_500 })
  assert.equal(succeeded.length, 1_001)
  assert.ok(!('labels' in succeeded[0]!))
})
