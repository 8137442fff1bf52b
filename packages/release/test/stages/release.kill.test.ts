import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { test } from 'node:test'
import { seededRandom } from '@heddle/core/lowlevel'
import { startFaultProxy } from '../../src/testing/fault-proxy.ts'
import { startVerdaccio } from '../../src/testing/verdaccio.ts'
import { Monorepo } from '../support/monorepo.ts'
import { until } from '../../../core/test/kernel/until.ts'

const packages = 30
/** Each kill starts a new process: this many are enough to hit every stage. */
const mostKills = 8
const seed = Number(process.env['HEDDLE_SEED'] ?? 20_261_116)

interface Ending {
  readonly ok: boolean
  readonly outcomes: readonly string[]
}

/** Runs the release until it ends, or until it has said `events` times that something happened. */
async function release(root: string, url: string, events: number): Promise<Ending | 'killed'> {
  const child = fork(path.join(import.meta.dirname, 'fixtures/release-child.ts'), [root, url])
  let seen = 0
  let ending: Ending | undefined
  child.on('message', (message) => {
    if (message !== 'event') ending = message as Ending
    else if (++seen === events) child.kill('SIGKILL')
  })
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  if (signal === 'SIGKILL') return 'killed'
  assert.equal(code, 0)
  return ending!
}

test(`${packages} packages, killed ${mostKills} times at random moments: each version is uploaded once`, async (t) => {
  t.diagnostic(`seed ${seed}`)
  const random = seededRandom(seed)
  await using registry = await startVerdaccio()
  await using proxy = await startFaultProxy({ target: registry.url })
  const names = Array.from({ length: packages }, (_, index) => `p${index}`)
  const graph = Object.fromEntries(
    names.map((name, index) => [
      name,
      names.slice(0, index).filter(() => random.next() < 2 / packages),
    ]),
  )
  using repo = new Monorepo({ packages: graph })

  let killed = 0
  while (killed < mostKills) {
    const events = 1 + Math.floor(random.next() * 150)
    if ((await release(repo.root, proxy.url, events)) !== 'killed') break
    killed++
    // Requests sent before the kill are with the registry, which may take its time on a busy machine.
    await until(() => proxy.active === 0)
  }
  const ending = await release(repo.root, proxy.url, Infinity)
  assert.ok(ending !== 'killed' && ending.ok)
  t.diagnostic(`${killed} kills`)
  assert.ok(killed >= mostKills / 2, `only ${killed} kills`)
  for (const name of names) assert.equal(proxy.uploads.get(`${name}@1.0.0`)?.accepted, 1, name)
  assert.equal(repo.tags.length, packages)
  assert.equal(repo.status, '')
})

test('L6 killed at the same moment again and again: the same command finishes it', async () => {
  await using registry = await startVerdaccio()
  using repo = new Monorepo({ packages: { 'same-a': [], 'same-b': ['same-a'] } })
  for (let kills = 0; kills < 5; kills++) {
    // Among the first stages, all of which run at once.
    assert.equal(await release(repo.root, registry.url, 6), 'killed')
  }
  const ending = await release(repo.root, registry.url, Infinity)
  assert.ok(ending !== 'killed' && ending.ok)
  assert.deepEqual(repo.tags, ['same-a@1.0.0', 'same-b@1.0.0'])
})
