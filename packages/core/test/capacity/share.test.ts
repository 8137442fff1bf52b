import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareOf, type Share, type ShareQuestion } from '../../src/capacity/share.ts'

const share = (count: number, want: number, more: Partial<Share> = {}): Share => ({
  count,
  want,
  need: want > count ? 1 : 0,
  limit: 4,
  isShort: false,
  since: 1,
  beat: 1,
  ...more,
})

const ask = (question: Partial<ShareQuestion>) =>
  shareOf({
    limit: 4,
    id: 'b',
    own: undefined,
    others: [],
    used: 0,
    need: 0,
    turn: 10,
    ...question,
  })

test('H2: alone it takes what it needs, and keeps it while no other server needs it', () => {
  assert.equal(ask({ need: 1 }).allowed, 4)
  assert.deepEqual(ask({ own: share(4, 4), used: 1 }), {
    allowed: 4,
    share: { count: 4, want: 1, need: 0, limit: 4, beat: 10, isShort: false, since: 1 },
  })
  assert.equal(ask({ need: 1, others: [['a', share(3, 3)]] }).allowed, 1)
  assert.equal(ask({}).share.count, 0)
})

test('H3: while another server lacks its part it starts nothing above its own, and counts running attempts', () => {
  const others = [['a', share(0, 4, { isShort: true, since: 7 })]] as const
  const { allowed, share: next } = ask({ own: share(4, 4), used: 4, need: 1, others })
  assert.deepEqual([allowed, next.count], [2, 4])
  assert.equal(ask({ own: share(4, 4), used: 3, need: 1, others }).share.count, 3)
  assert.equal(ask({ own: share(3, 4), used: 1, need: 1, others }).share.count, 2)
})

test('H3: the unused share of one server is divided among the others', () => {
  const others = [
    ['a', share(0, 10, { isShort: true, since: 7, limit: 10 })],
    ['c', share(1, 1, { limit: 10 })],
  ] as const
  // 1 for c, and of the 9 that are left 5 for the one that lacks them.
  const { allowed } = ask({ limit: 10, own: share(9, 10, { limit: 10 }), used: 0, need: 1, others })
  assert.equal(allowed, 4)
})

test('H4: one permit for two servers that want it: the one that has waited longer is next', () => {
  const limit = 1
  const waiting = [['a', share(0, 1, { isShort: true, since: 7, limit })]] as const
  // Its attempt runs: nothing more is started, and the permit is given back when it ends.
  const held = ask({ limit, own: share(1, 1), used: 1, need: 1, others: waiting })
  assert.deepEqual([held.allowed, held.share.count, held.share.isShort], [0, 1, false])
  const given = ask({ limit, own: share(1, 1), used: 0, need: 1, others: waiting })
  assert.deepEqual([given.allowed, given.share.count], [0, 0])
  assert.deepEqual([given.share.isShort, given.share.since], [true, 10])
  // a was first, so b waits although the permit is free.
  const own = share(0, 1, { isShort: true, since: 10 })
  assert.equal(ask({ limit, own, need: 1, others: waiting, turn: 11 }).allowed, 0)
  const longer = share(0, 1, { isShort: true, since: 5 })
  assert.equal(ask({ limit, own: longer, need: 1, others: waiting, turn: 11 }).allowed, 1)
})

test('H4: among servers that have a permit, the one that has had it longest makes room', () => {
  const limit = 2
  const waiting = ['a', share(0, 2, { isShort: true, since: 9, limit })] as const
  const earlier = ['c', share(1, 2, { since: 3, limit })] as const
  const later = ['c', share(1, 2, { since: 8, limit })] as const
  const question = { limit, own: share(1, 2, { since: 5 }), used: 0, need: 1 }
  assert.equal(ask({ ...question, others: [waiting, earlier] }).allowed, 1)
  assert.equal(ask({ ...question, others: [waiting, later] }).allowed, 0)
})

test('H4: an attempt that needs many permits gets them, however many small attempts wait elsewhere', () => {
  const large = [['a', share(0, 4, { need: 3, isShort: true, since: 7 })]] as const
  assert.equal(ask({ own: share(4, 4), used: 0, need: 1, others: large }).allowed, 1)
  const small = [['a', share(2, 4)]] as const
  const own = share(2, 4, { need: 3, isShort: true, since: 7 })
  assert.deepEqual(ask({ own, need: 3, others: small }).share.isShort, true)
  assert.equal(ask({ own, need: 3, others: [['a', share(1, 4)]] }).allowed, 3)
})

test('H1: attempts of a server that was taken for dead are counted when it is back', () => {
  const back = ask({ used: 3, others: [['a', share(4, 4)]] })
  assert.deepEqual([back.allowed, back.share.count], [0, 3])
})

test('H5: of two limits the smaller one counts while both servers are there', () => {
  const others = [['a', share(1, 2, { limit: 2 })]] as const
  assert.equal(ask({ need: 1, others }).allowed, 1)
  assert.equal(ask({ need: 1, others }).share.limit, 4)
  // A need above that waits, and does not keep others from their parts.
  assert.equal(
    ask({ need: 1, others: [['a', share(0, 2, { limit: 2, need: 3, isShort: true })]] }).allowed,
    2,
  )
})

test('H1, H3: parts never exceed the limit, and leave nothing over that is wanted', () => {
  for (let limit = 1; limit <= 7; limit++) {
    for (let servers = 1; servers <= 4; servers++) {
      // One after the other, as in the store: each sees the writes of the others.
      const shares = new Map<string, Share>()
      for (let turn = 1; turn <= 8 * servers; turn++) {
        const id = `s${turn % servers}`
        const others = [...shares].filter(([other]) => other !== id)
        const { share: next } = shareOf({
          limit,
          id,
          own: shares.get(id),
          others,
          used: 0,
          need: 1,
          turn,
        })
        shares.set(id, next)
        const sum = [...shares.values()].reduce((total, { count }) => total + count, 0)
        assert.ok(sum <= limit, `${sum} of ${limit} with ${servers}`)
      }
      const counts = [...shares.values()].map(({ count }) => count)
      if (limit < servers) continue
      assert.equal(
        counts.reduce((total, count) => total + count, 0),
        limit,
      )
      assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, String(counts))
    }
  }
})
