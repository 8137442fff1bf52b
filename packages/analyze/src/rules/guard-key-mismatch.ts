/** H306 key mismatch: state is indexed by one key and its guard by another, so the guard guards nothing. */
import type { Access, GuardEvent } from '../ir/graph.ts'
import { guardName } from '../guards/key.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { mutex, sameKey } from './fixes.ts'
import type { Host } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function guardKeyMismatch(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.guarding) {
    for (const { event } of host.guards) {
      if (event.op !== 'acquire' || event.key === undefined || !isVariable(event.key)) continue
      const draft = under(model, host, event)
      if (draft !== undefined) drafts.push(draft)
    }
  }
  return drafts
}

/** The key is a name (or a field of one): two different names may mean different things. */
function isVariable(key: string): boolean {
  return /^b\d+(?:\.\w+)*$/.test(key)
}

function under(model: Model, host: Host, guard: GuardEvent): Draft | undefined {
  for (const { location, accesses } of host.written) {
    const key = location.entryKey
    if (location.scope !== 'entry' || key === undefined || !isVariable(key) || key === guard.key)
      continue
    if (key.startsWith(`${guard.key}.`) || guard.key?.startsWith(`${key}.`) === true) continue
    const read = accesses.find(({ access }) => access.op === 'read')
    const write = accesses.find(({ access }) => access.op === 'write' && access.kind === 'fill')
    if (read === undefined || write === undefined) continue
    if (
      host.groups.some(
        ({ location: other }) => other.entryKey === guard.key && other.parent !== location.parent,
      )
    )
      continue
    const way = overSuspension(host.graph, read, (event) => event === write.access)
    if (way === undefined) continue
    const held = model.held.at(host.graph, read.block.id, read.access)
    if (!held.has(guardName(guard.guard, guard.key))) continue
    return describe(host, guard, read.access, write.access, way.suspensions)
  }
  return undefined
}

function describe(
  host: Host,
  guard: GuardEvent,
  read: Access,
  write: Access,
  suspensions: Draft['suspensions'],
): Draft {
  const name = write.location.name
  return {
    rule: 'H306',
    class: 'lifetime-mismatch',
    level: 'warning',
    message: `${host.unit.namedAs} changes ${name} under \`${textOf(guard, 40)}\`, a guard with another key: two holders of different guards meet at the same entry`,
    locations: [write.location.canonical],
    check: guard,
    act: write,
    suspensions,
    conflict: write,
    steps: [
      { task: 'A', text: `takes the guard of its key: \`${textOf(guard)}\``, at: guard },
      { task: 'A', text: `reads ${name}: \`${textOf(read)}\``, at: read },
      { task: 'A', text: 'waits', at: suspensions[0] ?? guard, isCheckpoint: true },
      { task: 'B', text: `takes the guard of another key, and reads the same ${name}`, at: read },
      { task: 'A', text: `writes: \`${textOf(write)}\``, at: write },
      { task: 'B', text: 'writes as well: one of the two is lost', at: write },
    ],
    window: [1, 5],
    evidence: [overlapOf(host.unit)?.text ?? 'it is shared', 'guard and state have different keys'],
    fixes: [sameKey([1, 6]), mutex(name, [1, 6])],
    guard: textOf(guard, 40),
  }
}

export const guardKeyMismatchPage: RulePage = {
  id: 'H306',
  name: 'guard-key-mismatch',
  class: 'lifetime-mismatch',
  level: 'error',
  summary: 'State is kept by one key, and guarded by another.',
  what: `The entry of a container is accessed under a guard that is looked up by a key from which the
key of the entry does not follow.`,
  why: `Two tasks that hold different guards change the same entry; or tasks that have nothing to do
with each other wait in one line.`,
  race: source`
    import { Mutex } from 'async-mutex'

    const locks = new Map<string, Mutex>()
    const balances = new Map<string, number>()

    function lockOf(key: string): Mutex {
      const lock = locks.get(key) ?? new Mutex()
      locks.set(key, lock)
      return lock
    }

    export async function pay(user: string, account: string, amount: number): Promise<void> {
      await lockOf(user).runExclusive(async () => {
        const balance = balances.get(account) ?? 0
        await audit(user, amount)
        balances.set(account, balance - amount)
      })
    }
  `,
  steps: [
    ['A', 'pay(ann, house): holds the lock of ann, reads the balance of house'],
    ['A', 'await audit(): suspended'],
    ['B', 'pay(bob, house): holds the lock of bob, reads the same balance'],
    ['A', 'writes the balance of house'],
    ['B', 'writes the balance of house: the payment of A is lost'],
  ],
  window: [2, 5],
  fixed: source`
    import { Mutex } from 'async-mutex'

    const locks = new Map<string, Mutex>()
    const balances = new Map<string, number>()

    function lockOf(key: string): Mutex {
      const lock = locks.get(key) ?? new Mutex()
      locks.set(key, lock)
      return lock
    }

    export async function pay(user: string, account: string, amount: number): Promise<void> {
      await lockOf(account).runExclusive(async () => {
        const balance = balances.get(account) ?? 0
        await audit(user, amount)
        balances.set(account, balance - amount)
      })
    }
  `,
  fixes: [
    'Look the guard up by the key of the state.',
    'Keep the guard in the entry that it protects.',
  ],
}
