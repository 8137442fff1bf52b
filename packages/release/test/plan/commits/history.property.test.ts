import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Commit } from '../../../src/git/commit-log.ts'
import { History, historyEntry, type EffectiveChange } from '../../../src/plan/commits/history.ts'

const hashOf = (i: number): string => i.toString(16).padStart(40, '0')

function changesOf(commits: readonly Commit[]): Map<string, EffectiveChange[]> {
  const entries = commits.map((commit) => historyEntry(commit, () => ['p']))
  const history = new History(entries)
  return history.changes(history.since(undefined), ['p'])
}

interface Feature {
  readonly commit: number
  isInEffect: boolean
  /** The commit that changed that last. */
  last: number
}

/**
 * A straight history: each step adds a feature, or turns one off or on again by a revert that Git
 * could make: of the feature itself while it is in effect, or of the last commit that turned it.
 */
function play(steps: readonly { readonly choice: number; readonly isRevert: boolean }[]): {
  commits: Commit[]
  inEffect: string[]
} {
  const commits: Commit[] = []
  const features: Feature[] = []
  for (const [i, { choice, isRevert }] of steps.entries()) {
    let message = `feat: ${i}`
    if (isRevert && features.length > 0) {
      const feature = features[choice % features.length]!
      const isDirect = feature.isInEffect && choice % 2 === 0
      message = `Revert "something"\n\nThis reverts commit ${hashOf(isDirect ? feature.commit : feature.last)}.`
      Object.assign(feature, { isInEffect: !feature.isInEffect, last: i })
    } else {
      features.push({ commit: i, isInEffect: true, last: i })
    }
    const parents = i === 0 ? [] : [hashOf(i - 1)]
    commits.unshift({ hash: hashOf(i), parents, message, files: ['p/x'] })
  }
  const inEffect = features
    .filter(({ isInEffect }) => isInEffect)
    .map(({ commit }) => `feat: ${commit}`)
  return { commits, inEffect }
}

test('property H1: the remaining commits are the ones in effect, however often they were reverted and brought back', () => {
  const steps = fc.array(fc.record({ choice: fc.nat(), isRevert: fc.boolean() }), {
    minLength: 1,
    maxLength: 20,
  })
  fc.assert(
    fc.property(steps, (played) => {
      const { commits, inEffect } = play(played)
      const changes = changesOf(commits)
      const titles = (changes.get('p') ?? []).map(({ title }) => title)
      assert.deepEqual(titles.toSorted(), inEffect.toSorted())
    }),
    { numRuns: 1_000 },
  )
})

/** Any graph of commits: each has one or two parents among the earlier ones. */
const graph = fc
  .array(fc.tuple(fc.nat(), fc.option(fc.nat(), { nil: undefined })), {
    minLength: 2,
    maxLength: 14,
  })
  .map((choices) => {
    const parents = choices.map(([first, second], i): number[] =>
      i === 0 ? [] : [...new Set([first % i, ...(second === undefined ? [] : [second % i])])],
    )
    return parents
  })

function ancestors(parents: readonly (readonly number[])[], start: number): Set<number> {
  const found = new Set([start])
  for (const i of found) for (const parent of parents[i]!) found.add(parent)
  return found
}

test('property H2: reverting a merge leaves exactly the commits that the merge did not bring', () => {
  fc.assert(
    fc.property(graph, (parents) => {
      const merge = parents.findLastIndex((list) => list.length === 2)
      if (merge === -1) return
      const [mainline] = parents[merge]!
      const kept = ancestors(parents, mainline!)
      const brought = new Set([...ancestors(parents, merge)].filter((i) => !kept.has(i)))
      const message = `Revert "x"\n\nThis reverts commit ${hashOf(merge)}, reversing\nchanges made to ${hashOf(mainline!)}.`
      const last = parents.length
      const commits = parents.map((list, i): Commit => ({
        hash: hashOf(i),
        parents: list.map(hashOf),
        message: list.length === 2 ? 'Merge branch x' : `feat: ${i}`,
        files: ['p/x'],
      }))
      commits.push({ hash: hashOf(last), parents: [hashOf(last - 1)], message, files: ['p/x'] })
      const changes = changesOf(commits.toReversed())
      const expected = parents
        .map((list, i) => ({ list, i }))
        .filter(({ list, i }) => list.length < 2 && !brought.has(i))
        .map(({ i }) => `feat: ${i}`)
      assert.deepEqual(
        (changes.get('p') ?? []).map(({ title }) => title).toSorted(),
        expected.toSorted(),
      )
    }),
    { numRuns: 1_000 },
  )
})

test('property P2: a range has the commits that the release does not contain', () => {
  fc.assert(
    fc.property(graph, fc.nat(), (parents, chosen) => {
      const base = chosen % parents.length
      const entries = parents.map((list, i) =>
        historyEntry(
          { hash: hashOf(i), parents: list.map(hashOf), message: `feat: ${i}`, files: ['p/x'] },
          () => ['p'],
        ),
      )
      const history = new History(entries.toReversed())
      const titles = (history.changes(history.since(hashOf(base)), ['p']).get('p') ?? []).map(
        ({ title }) => title,
      )
      const contained = ancestors(parents, base)
      const expected = parents.flatMap((_, i) => (contained.has(i) ? [] : [`feat: ${i}`]))
      // A merge that repeats what its commits say is left out (H4).
      const merges = parents.flatMap((list, i) => (list.length === 2 ? [`feat: ${i}`] : []))
      const without = (list: readonly string[]): string[] =>
        list.filter((title) => !merges.includes(title)).toSorted()
      assert.deepEqual(without(titles), without(expected))
    }),
    { numRuns: 1_000 },
  )
})
