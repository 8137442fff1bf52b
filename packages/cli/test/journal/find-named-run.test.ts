import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError, isError } from '@heddle/core'
import type { RunOverview, RunSummary } from '@heddle/core/lowlevel'
import { findNamedRun } from '../../src/journal/find-named-run.ts'

const ids = ['20261116-080000-k3f9q2', '20261115-224501-bq77xz', '20261115-224400-k9d0gg']

let lists = 0

const journal = {
  address: 'sqlite:runs.db',
  runs: ({ limit = 1_000 } = {}) => {
    lists++
    return Promise.resolve(
      ids.slice(0, limit).map((id) => ({ id, title: 'build.ts' }) as RunSummary),
    )
  },
  async overview(id: string): Promise<RunOverview> {
    if (ids.includes(id)) return { id, title: 'build.ts' } as RunOverview
    throw new HeddleError('HDL_UNKNOWN_RUN', { run: id, address: this.address })
  },
}

async function found(word: string): Promise<string> {
  return (await findNamedRun(journal, word)).id
}

test('last, the one before, an id, its beginning, or the beginning of its last part', async () => {
  assert.equal(await found('last'), ids[0])
  assert.equal(await found('last~0'), ids[0])
  assert.equal(await found('last~2'), ids[2])
  assert.equal(await found(ids[1]!), ids[1])
  assert.equal(await found('20261116'), ids[0])
  assert.equal(await found('20261115-2245'), ids[1])
  assert.equal(await found('k9'), ids[2])
})

test('a whole id is looked up, and no list is read for it', async () => {
  lists = 0
  assert.equal(await found(ids[2]!), ids[2])
  assert.equal(lists, 0)
})

test('an ambiguous name is refused, with the matching runs', async () => {
  await assert.rejects(found('20261115'), (error) => {
    assert.ok(isError(error, 'HDL_AMBIGUOUS_RUN'))
    assert.match(error.message, /bq77xz \(build\.ts\), 20261115-224400-k9d0gg \(build\.ts\)\./)
    return true
  })
  await assert.rejects(found('k'), (error) => isError(error, 'HDL_AMBIGUOUS_RUN'))
})

test('an unknown run comes with a suggestion', async () => {
  const suggestion = async (word: string): Promise<string | undefined> => {
    const error: unknown = await found(word).catch((thrown: unknown) => thrown)
    assert.ok(isError(error, 'HDL_UNKNOWN_RUN'))
    return error.details.suggestion
  }
  assert.equal(await suggestion('k3f9qz'), 'k3f9q2')
  assert.equal(await suggestion('20261116-080000-k3f9p2'), ids[0])
  assert.equal(await suggestion('lats'), 'last')
  assert.equal(await suggestion('nothing like it'), undefined)
  assert.equal(await suggestion('last~3'), undefined)
})
