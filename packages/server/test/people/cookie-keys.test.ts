import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStore, seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { People } from '../../src/people/people.ts'
import { peopleTables } from '../../src/people/people-tables.ts'

const day = 86_400_000
const password = 'a long enough password'

/** Two servers on one store, with a clock for both, and a session of Ada that is remembered. */
async function setUp() {
  const opened = await openStore('memory', { tables: peopleTables })
  const clock = new VirtualClock({ wallTime: 1_000_000 })
  const kernel = { clock, random: seededRandom(1) }
  const [one, two] = [new People(opened.tables, kernel), new People(opened.tables, kernel)]
  await Promise.all([one.start(), two.start()])
  await one.addUser({ name: 'ada', role: 'admin', password })
  const login = (people: People): Promise<{ readonly cookie: string }> =>
    people.login({ name: 'ada', password, remember: true, address: '' })
  const { cookie } = await login(one)
  return {
    clock,
    one,
    two,
    cookie,
    login,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  }
}

const nameOf = async (people: People, cookie: string): Promise<string | undefined> =>
  (await people.sessionOf(cookie))?.user.name

test('K1 S106 after a rotation old cookies are read and signed again; new ones have the new key', async () => {
  await using kit = await setUp()
  await kit.one.rotateKey({ endSessions: false })
  const known = await kit.one.sessionOf(kit.cookie)
  assert.deepEqual([known?.user.name, known?.isOfEarlierKey], ['ada', true])
  const signedAnew = await kit.one.rotate(known!)
  assert.notEqual(signedAnew, undefined)
  const after = await kit.one.sessionOf(signedAnew!)
  assert.deepEqual([after?.user.name, after?.isOfEarlierKey], ['ada', false])
  assert.equal(await kit.one.rotate(after!), undefined, 'once')
  // Other requests of the page come with the old one for another minute.
  const late = await kit.one.sessionOf(kit.cookie)
  assert.equal(late?.user.name, 'ada')
  assert.equal(await kit.one.rotate(late), undefined, 'it was replaced already')
})

test('K1 a cookie of an earlier key is valid as long as its session, not longer', async () => {
  await using kit = await setUp()
  await kit.one.rotateKey({ endSessions: false })
  await kit.one.rotateKey({ endSessions: false })
  assert.equal(await nameOf(kit.one, kit.cookie), 'ada', 'two rotations later')
  await kit.clock.advance(399 * day)
  assert.equal(await nameOf(kit.one, kit.cookie), 'ada')
  await kit.clock.advance(2 * day)
  assert.equal(await nameOf(kit.one, kit.cookie), undefined)
})

test('K2 another server reads and signs by the new key a second later', async () => {
  await using kit = await setUp()
  await kit.one.rotateKey({ endSessions: false })
  await kit.clock.advance(1_000)
  const { cookie } = await kit.login(kit.two)
  const known = await kit.one.sessionOf(cookie)
  assert.deepEqual([known?.user.name, known?.isOfEarlierKey], ['ada', false])
  assert.equal(await nameOf(kit.two, kit.cookie), 'ada')
})

test('a rotation that ends sessions: no user is logged in any more, on any server', async () => {
  await using kit = await setUp()
  assert.equal(await nameOf(kit.two, kit.cookie), 'ada')
  assert.equal(await kit.one.rotateKey({ endSessions: true }), 1)
  await kit.clock.advance(1_000)
  for (const people of [kit.one, kit.two]) assert.equal(await nameOf(people, kit.cookie), undefined)
  const { cookie } = await kit.login(kit.two)
  assert.equal(await nameOf(kit.one, cookie), 'ada')
})

test('K3 two rotations at the same moment both count: no cookie is lost', async () => {
  await using kit = await setUp()
  await Promise.all([
    kit.one.rotateKey({ endSessions: false }),
    kit.two.rotateKey({ endSessions: false }),
  ])
  await kit.clock.advance(1_000)
  for (const people of [kit.one, kit.two]) assert.equal(await nameOf(people, kit.cookie), 'ada')
})
