import { build, picture, surfaceOf, text, told, zero } from './kit.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { criticalPathOf, readRecord, timedNodes, type InputRecord } from '@heddle/core/lowlevel'
import { nodeLines } from '../../src/runs/node-view.ts'

async function shown(name: string, made?: InputRecord): Promise<string> {
  await using journal = await told(build)
  const record = await readRecord(journal, '20261115-224501-k3f9q2', { now: zero + 200_000 })
  const criticalPath = await criticalPathOf(timedNodes(record))
  const input = { record, criticalPath, isPast: false, surface: surfaceOf() }
  return text(
    nodeLines(
      record.nodes.find((node) => node.name === name)!,
      input,
      made,
    ),
  )
}

test('a node that was tried twice', async () => {
  assert.equal(
    await shown('lint'),
    picture`
      ✗ build.ts  failed
        run            20261115-224501-k3f9q2 in sqlite:runs.db

      ✓ lint  succeeded
        job            lint on the loop
        after          ✓ fetch
        before         nothing
        time           queued 110 ms, ran 200 ms
        slack          500 ms
        result         heddle runs show 20261115-224501-k3f9q2 --value "lint"

        ATTEMPT  QUEUED  STARTED     RAN  OUTCOME
        1        100 ms  +310 ms  100 ms  failed
        2         10 ms  +510 ms  100 ms  succeeded

        ✓ lint  1 attempt failed, then it succeeded
            busy
    `,
  )
})

test('the input of a node is shown, or the beginning of a long one', async () => {
  assert.match(await shown('lint', { text: '{"page":1}' }), /\n {2}input {10}\{"page":1\}\n/)
  assert.match(await shown('lint', { text: '["\u001b[31m', isCut: true }), /input +\["…\n/)
  const long = await shown('lint', { text: `"${'x'.repeat(1_000)}"` })
  assert.match(long, /input +"x{399}…\n/)
})

test('a node that never ran shows why, and its neighbours', async () => {
  assert.equal(
    await shown('notify'),
    picture`
      ✗ build.ts  failed
        run            20261115-224501-k3f9q2 in sqlite:runs.db

      ⊘ notify  blocked
        job            notify on the loop
        after          ✗ upload
        before         nothing
        blocked by     "upload"
    `,
  )
  assert.match(await shown('fetch'), /before +✓ parse, ✓ lint\n/)
  assert.match(await shown('fetch'), /slack +none: it is on a critical path/)
})
