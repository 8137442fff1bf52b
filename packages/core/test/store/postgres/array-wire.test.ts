import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { systemClock } from '../../../src/kernel/clock.ts'
import { readAddress } from '../../../src/store/postgres/address.ts'
import { ArrayWire, type ElementType } from '../../../src/store/postgres/array-wire.ts'
import { Link } from '../../../src/store/postgres/database-link.ts'

let postgres: TestDatabase
let link: Link
before(async () => {
  postgres = await openDatabase()
  link = new Link({
    address: readAddress(postgres.address),
    clock: systemClock,
    answerWithin: 60_000,
  })
})
after(async () => {
  await link.close()
  await postgres[Symbol.asyncDispose]()
})

/** What PostgreSQL has understood, as JSON: it writes numbers and text as they are. */
async function readBack(type: ElementType, fill: (wire: ArrayWire) => void): Promise<unknown> {
  const wire = new ArrayWire(type)
  fill(wire)
  const element = type === 'bytea' ? "encode(e, 'hex')" : 'e'
  const statement = `SELECT coalesce(json_agg(${element} ORDER BY n), '[]')
    FROM unnest($1::${type}[]) WITH ORDINALITY u (e, n)`
  const [row] = await link.call<[unknown]>('be read', statement, [wire.wire()])
  return row![0]
}

test('numbers of every type arrive, with NULLs and at their bounds', async () => {
  const bounds: Readonly<Record<string, readonly (number | null)[]>> = {
    smallint: [0, -1, 32_767, -32_768, null],
    integer: [0, null, 2 ** 31 - 1, -(2 ** 31)],
    bigint: [0, 1, -1, 2 ** 32, -(2 ** 32) - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
    'double precision': [0, 0.5, -1.25, 1e300, 1_763_000_000_000.123, null],
  }
  for (const [type, numbers] of Object.entries(bounds)) {
    const read = await readBack(type as ElementType, (wire) => {
      for (const each of numbers) wire.pushNumber(each)
    })
    assert.deepEqual(read, numbers, type)
  }
})

test('text arrives: empty, quoted, long, and outside of ASCII at every length', async () => {
  const texts = ['', 'NULL', '{"a",\\}', 'ä', '水'.repeat(30), '🧵', null, 'x'.repeat(100_000)]
  for (let length = 1; length < 40; length++) texts.push('a'.repeat(length) + 'ö')
  const read = await readBack('text', (wire) => {
    for (const each of texts) wire.pushText(each)
  })
  assert.deepEqual(read, texts)
})

test('bytes arrive, and an empty array is one', async () => {
  const bodies = [Uint8Array.of(), Uint8Array.of(0, 255, 1), null, new Uint8Array(5_000).fill(7)]
  const read = await readBack('bytea', (wire) => {
    for (const each of bodies) wire.pushBytes(each)
  })
  assert.deepEqual(
    read,
    bodies.map((each) => each && Buffer.from(each).toString('hex')),
  )
  assert.deepEqual(await readBack('bytea', () => undefined), [])
})

test('a number in a column of text is refused', () => {
  assert.throws(() => new ArrayWire('text').pushNumber(1), TypeError)
})
