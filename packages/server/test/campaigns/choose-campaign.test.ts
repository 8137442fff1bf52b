import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  anyWorker,
  type CampaignNeeds,
  type CampaignSpec,
} from '../../src/campaigns/campaign-spec.ts'
import type { WorkerDescription } from '../../src/fleet/fleet-worker.ts'
import { makeWorld, TestServer } from '../fleet/kit.ts'

type Given = Partial<Omit<CampaignSpec, 'needs'>> & {
  readonly needs?: Partial<CampaignNeeds>
  /** Threads that work at it already. */
  readonly busy?: number
}

interface Choice {
  readonly campaigns: Readonly<Record<string, Given>>
  readonly worker?: Partial<WorkerDescription> & { readonly last?: string }
  /** The campaign that the worker gets, or the reason why it gets none. */
  readonly expected: string
}

const bigRegex = '*a'.repeat(30)

/** One row for each filter and each rule of the order (1A.4). */
const table: Readonly<Record<string, Choice>> = {
  'no campaign': { campaigns: {}, expected: 'no_work' },
  'the only one': { campaigns: { a: {} }, expected: 'a' },
  'priority: the higher': { campaigns: { a: {}, b: { priority: 1 } }, expected: 'b' },
  'priority: the higher, also when it has workers': {
    campaigns: { a: {}, b: { priority: 1, busy: 4 } },
    expected: 'b',
  },
  'priority: the lower, when the higher cannot use the worker': {
    campaigns: { a: {}, b: { priority: 1, needs: { memory: 9_000 } } },
    expected: 'a',
  },
  'priority below the usual': { campaigns: { a: {}, b: { priority: -1 } }, expected: 'a' },
  'without a worker first': { campaigns: { a: { busy: 1 }, b: {} }, expected: 'b' },
  'without a worker first, whatever its weight': {
    campaigns: { a: { busy: 1, weight: 100 }, b: { weight: 0.1 } },
    expected: 'b',
  },
  'the share: fewer threads': { campaigns: { a: { busy: 3 }, b: { busy: 2 } }, expected: 'b' },
  'the share: by weight': {
    campaigns: { a: { busy: 3, weight: 4 }, b: { busy: 2, weight: 1 } },
    expected: 'a',
  },
  'the last one stays while that is fair': {
    campaigns: { a: { busy: 4 }, b: { busy: 4 } },
    worker: { last: 'a' },
    expected: 'a',
  },
  'the last one is left when it has too much': {
    campaigns: { a: { busy: 8 }, b: { busy: 4 } },
    worker: { last: 'a' },
    expected: 'b',
  },
  'the last one is left when another has too little': {
    campaigns: { a: { busy: 4 }, b: { busy: 4 }, c: { busy: 1 } },
    worker: { last: 'a' },
    expected: 'c',
  },
  'the last one is left for a higher priority': {
    campaigns: { a: { busy: 1 }, b: { busy: 1, priority: 1 } },
    worker: { last: 'a' },
    expected: 'b',
  },
  'another job': { campaigns: { a: { job: 'render' } }, expected: 'capability' },
  'another version of the job': { campaigns: { a: { version: '2' } }, expected: 'version' },
  'the version says more than a missing capability': {
    campaigns: { a: { needs: { capabilities: ['gpu'] } }, b: { version: '2' } },
    expected: 'version',
  },
  'a capability that is missing': {
    campaigns: { a: { needs: { capabilities: ['gpu'] } } },
    expected: 'capability',
  },
  'a capability that is there': {
    campaigns: { a: { needs: { capabilities: ['gpu'] } } },
    worker: { capabilities: ['gpu', 'avx2'] },
    expected: 'a',
  },
  'a tag that is missing': {
    campaigns: { a: { needs: { tags: ['lab'] } } },
    expected: 'capability',
  },
  'a tag that is there': {
    campaigns: { a: { needs: { tags: ['lab'] } } },
    worker: { tags: ['lab'] },
    expected: 'a',
  },
  'not enough memory': { campaigns: { a: { needs: { memory: 1_001 } } }, expected: 'capability' },
  'just enough memory': { campaigns: { a: { needs: { memory: 1_000 } } }, expected: 'a' },
  'too few threads': { campaigns: { a: { needs: { minThreads: 2 } } }, expected: 'capability' },
  'too many threads': {
    campaigns: { a: { needs: { maxThreads: 2 } } },
    worker: { threads: 4 },
    expected: 'capability',
  },
  'as many threads as allowed': {
    campaigns: { a: { needs: { minThreads: 2, maxThreads: 4 } } },
    worker: { threads: 4 },
    expected: 'a',
  },
  'another system': { campaigns: { a: { needs: { system: 'darwin-*' } } }, expected: 'capability' },
  'one of several systems': {
    campaigns: { a: { needs: { system: 'darwin-*|linux-x??' } } },
    expected: 'a',
  },
  'an evil pattern does not stall': {
    campaigns: { a: { needs: { system: bigRegex } }, b: {} },
    worker: { system: 'a'.repeat(200) + 'b' },
    expected: 'b',
  },
  'the campaign of another tenant': { campaigns: { a: { tenant: 'other' } }, expected: 'no_work' },
  'no units are left': { campaigns: { a: { units: 1, busy: 1 } }, expected: 'no_work' },
  'a campaign that is paused': { campaigns: { a: { name: 'paused' } }, expected: 'no_work' },
}

for (const [title, { campaigns, worker = {}, expected }] of Object.entries(table)) {
  test(`S119 P7: ${title}`, async () => {
    const world = makeWorld()
    const server = await new TestServer(world).start()
    const names = new Map<string, string>()
    const ids = new Map<string, string>()
    for (const [name, { busy = 0, needs = {}, ...spec }] of Object.entries(campaigns)) {
      const whole = { ...spec, needs: { ...anyWorker, ...needs } }
      // Alone at first: what works at it already cannot choose another.
      const campaign = await server.create({ ...whole, priority: 100 })
      for (let n = 0; n < busy; n++) {
        await server.lease({ id: `${name}-${n}`, memory: 10_000, capabilities: ['gpu'] })
      }
      Object.assign(campaign.spec, { priority: spec.priority ?? 0 })
      if (spec.name === 'paused') campaign.pause()
      names.set(campaign.id, name)
      ids.set(name, campaign.id)
    }
    const { last, ...description } = worker
    if (last !== undefined) {
      await server.claim({ id: 'me', jobs: [] })
      server.fleet.knownWorker('me')!.lastWork = ids.get(last)
    }
    const answer = await server.claim({ id: 'me', ...description })
    assert.equal('reason' in answer ? answer.reason : names.get(answer.work.id), expected)
    await server.stop()
  })
}

test('S119: the table has at least thirty rows', () => {
  assert.ok(Object.keys(table).length >= 30)
})
