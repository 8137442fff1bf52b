import type { Contender, Entrant, Row, Suite } from '../../harness/row.ts'
import { loose } from '../engine/shapes.ts'
import { openQueueFlow } from '../journal/flow.ts'
import { needsOf, ownAddress, type Backend } from '../store/own-address.ts'
import { peers } from '../store/peers.ts'
import { elements, slowPeerElements, window } from './conditions.ts'

function contender(play: (size: number) => Promise<void>): Contender {
  return { prepare: (size) => () => play(size) }
}

const ours = () => import('../../ours/map.ts')

const base = {
  measure: 'rate',
  unit: 'elements/s',
  size: elements,
  quickSize: 2_000,
  warmUps: 1,
  warmUpSize: 20_000,
  rounds: 1,
  children: 3,
  limitMs: 900_000,
} as const

const plain: Row = {
  ...base,
  name: 'map without a journal',
  note: `collect: false, a window of ${window}; rssMb is the memory of the whole process`,
  entrants: {
    heddle: {
      role: 'ours',
      load: async () => {
        const { playPlain } = await ours()
        return contender((size) => playPlain(size, window))
      },
    },
    'p-map': {
      role: 'peer',
      load: async () => {
        const { playPMap } = await import('../../peers/p-map.ts')
        return contender((size) => playPMap(size, window))
      },
    },
  },
}

/** Libraries that record every step of a workflow: the elements are steps of one workflow. */
function stepPeers(): Record<string, Entrant> {
  const entrants: Record<string, Entrant> = {}
  for (const [name, { keeps, open, needs }] of Object.entries(peers)) {
    if (keeps !== 'steps') continue
    entrants[name] = {
      role: 'peer',
      needs,
      size: slowPeerElements,
      warmUpSize: 500,
      children: 2,
      load: async () => {
        const play = await openQueueFlow(await open(), 'fsync', window)
        return contender((size) => play(loose(size)))
      },
    }
  }
  return entrants
}

function journaledRow(backend: Backend): Row {
  return {
    ...base,
    name: `map, ${backend}`,
    note: `each element is durable (fsync) before the next takes its place in the window of ${window}`,
    entrants: {
      heddle: {
        role: 'ours',
        needs: needsOf(backend),
        load: async () => {
          const { openMap } = await ours()
          const { play } = await openMap(await ownAddress(backend), window)
          return contender(play)
        },
      },
      ...stepPeers(),
    },
  }
}

function resumeRow(backend: Backend): Row {
  return {
    ...base,
    name: `resume of a map, ${backend}`,
    note: 'all elements but the last have ended in an earlier process, which is not timed',
    children: 2,
    entrants: {
      heddle: {
        role: 'ours',
        needs: needsOf(backend),
        load: async () => {
          const { openMap } = await ours()
          const { prepareResume } = await openMap(await ownAddress(backend), window)
          return { prepare: (size) => prepareResume(size) }
        },
      },
    },
  }
}

export const suite: Suite = {
  name: 'map',
  summary:
    'a map of a million elements: speed, gaps of the loop and memory, also when it is resumed',
  rows: [
    plain,
    journaledRow('SQLite'),
    journaledRow('PostgreSQL'),
    resumeRow('SQLite'),
    resumeRow('PostgreSQL'),
  ],
  // Loaded by the bench alone: the children, which load this file too, start nothing.
  surround: async (wanted, options) => {
    const { surround } = await import('../journal/surround.ts')
    const { needs } = await import('../journal/needs.ts')
    return surround(wanted, options, [needs.postgres])
  },
}
