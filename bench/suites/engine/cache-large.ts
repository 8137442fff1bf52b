import type { Contender, Entrant, Row } from '../../harness/row.ts'
import type { KeepLarge } from './contract.ts'

const megabytes = 30

/** A record with a few fields: a million values and 30 MB in 100,000 of them. */
const node = (id: number): object => ({
  id,
  name: `node ${id}`,
  text: `a text of some length, as records have, number ${id} `.repeat(4),
  position: { x: id, y: id / 2, tags: ['alpha', 'beta'] },
})

/** The same 30 MB as bytes, as text and as objects. */
function values(): Readonly<Record<string, unknown>> {
  const bytes = new Uint8Array(megabytes * 2 ** 20).fill(7)
  return {
    bytes,
    text: Buffer.from(bytes.buffer).toString('latin1'),
    objects: Array.from({ length: 100_000 }, (_, id) => node(id)),
  }
}

/** Each operation stores a value, forgets it in memory, and reads it back. */
function largeContender(open: () => Promise<KeepLarge>): Contender {
  return {
    async prepare(size) {
      const keep = await open()
      const all = Object.entries(values())
      return async () => {
        for (let index = 0; index < size; index++) {
          const [name, value] = all[index % all.length]!
          await keep.set(name, value)
          const back = await keep.readBack(name)
          if ((back as { length: number }).length !== (value as { length: number }).length) {
            throw new Error(`${name} came back as a different value`)
          }
        }
        await keep.close()
      }
    },
  }
}

const entrant = (
  role: Entrant['role'],
  open: () => Promise<() => Promise<KeepLarge>>,
): Entrant => ({
  role,
  load: async () => largeContender(await open()),
})

export const row: Row = {
  name: 'cache 30 MB',
  measure: 'rate',
  unit: 'values/s',
  size: 6,
  quickSize: 3,
  warmUps: 1,
  warmUpSize: 3,
  rounds: 3,
  children: 2,
  note: 'stored durably and read back cold: bytes, text, objects; the gap of the loop is the point',
  entrants: {
    heddle: entrant('ours', async () => (await import('../../ours/cache.ts')).keepLarge),
    'v8 and a file': entrant('floor', async () => (await import('./large-floor.ts')).keepLarge),
  },
}
