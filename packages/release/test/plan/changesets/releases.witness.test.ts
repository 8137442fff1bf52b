/** Changesets itself says which versions are right. `HEDDLE_WITNESS_RUNS` asks it more often. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assembleReleasePlan } from '@changesets/assemble-release-plan'
import fc from 'fast-check'
import { ChangesetReleases } from '../../../src/plan/changesets/releases.ts'
import type { Bump } from '../../../src/plan/versions.ts'
import { root, sketchWorkspace, type Sketch } from '../sketch.ts'

const size = 5
const groups = {
  '': 'dependencies',
  'peer:': 'peerDependencies',
  'optional:': 'optionalDependencies',
  'dev:': 'devDependencies',
} as const
const ranges = [
  '^$',
  '~$',
  '$',
  '*',
  '>=1.0.0',
  'workspace:*',
  'workspace:^',
  'workspace:~',
  'workspace:^1.0.0',
]
const numbers = fc.integer({ min: 0, max: 7 })
const perPackage = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(item, { minLength: size, maxLength: size })
const index = fc.nat(size - 1)

const scenes = fc.record({
  versions: perPackage(fc.constantFrom('1.0.0', '1.1.0', '1.0.1', '0.5.0', '2.0.0')),
  counters: perPackage(fc.option(fc.nat(3), { nil: undefined })),
  kinds: perPackage(numbers),
  edges: fc.uniqueArray(
    fc.tuple(
      index,
      index,
      fc.constantFrom('' as const, 'peer:' as const, 'optional:' as const, 'dev:' as const),
      fc.constantFrom(...ranges),
    ),
    // Listed twice, a dependency counts there in its last group only: different on purpose.
    { maxLength: 10, selector: ([from, to]) => `${from} ${to}` },
  ),
  intents: fc.array(
    fc.record({
      bumps: fc.array(fc.tuple(index, fc.constantFrom<Bump>('major', 'minor', 'patch', 'none')), {
        minLength: 1,
        maxLength: 3,
      }),
      isUsed: fc.boolean(),
    }),
    { maxLength: 4 },
  ),
  mode: fc.constantFrom(undefined, 'pre' as const, 'exit' as const),
  isAlways: fc.boolean(),
  isProtocolOnly: fc.boolean(),
  versionsPrivate: fc.boolean(),
})

test('property: random workspaces get the versions that Changesets 3 gives them', (t) => {
  // It comments on ranges that mean another version.
  t.mock.method(console, 'error', () => undefined)
  let compared = 0
  let released = 0
  fc.assert(
    fc.property(scenes, (scene) => {
      const { kinds, mode } = scene
      const nameOf = (i: number): string => `p${i}`
      const named = (kind: number): string[] =>
        kinds.flatMap((each, i) => (each === kind ? [nameOf(i)] : []))
      const isPrerelease = (i: number): boolean =>
        mode !== undefined && scene.counters[i] !== undefined
      const versionOf = (i: number): string =>
        `${scene.versions[i]}${isPrerelease(i) ? `-rc.${scene.counters[i]}` : ''}`
      const fixed = named(0)
      const linked = named(1)
      const ignored = named(2)
      const isPrivate = (i: number): boolean => kinds[i] === 3
      // Leaving a prerelease, all of a group are released there if one had one: different on purpose.
      const isMixed = [fixed, linked].some(
        (group) => new Set(group.map((name) => isPrerelease(Number(name.slice(1))))).size > 1,
      )
      fc.pre(!(mode === 'exit' && isMixed))

      const sketches: Record<string, Sketch> = {}
      const manifests = kinds.map((_, i) => {
        const own = scene.edges.filter(([from, to]) => from === i && to !== i)
        const written = own.map(
          ([, to, group, range]) => [group, nameOf(to), range.replace('$', versionOf(to))] as const,
        )
        sketches[nameOf(i)] = {
          version: versionOf(i),
          private: isPrivate(i),
          needs: Object.fromEntries(
            written.map(([group, name, range]) => [`${group}${name}`, range]),
          ),
        }
        const listed = Object.entries(groups).map(([prefix, group]) => [
          group,
          Object.fromEntries(
            written.filter(([each]) => each === prefix).map(([, name, range]) => [name, range]),
          ),
        ])
        return {
          name: nameOf(i),
          version: versionOf(i),
          ...(isPrivate(i) ? { private: true } : {}),
          ...Object.fromEntries(listed),
        }
      })
      // One of our intents that mixes ignored packages with others is refused before it gets here.
      const isSkipped = (i: number): boolean =>
        kinds[i] === 2 || (isPrivate(i) && !scene.versionsPrivate)
      const intents = scene.intents.map(({ bumps, isUsed }, i) => ({
        id: `i${i}`,
        isUsed: isUsed && mode !== undefined,
        bumps: new Map(
          bumps
            .filter(([at]) => isSkipped(at) === isSkipped(bumps[0]![0]))
            .map(([at, bump]) => [nameOf(at), bump]),
        ),
      }))

      const rootPackage = {
        dir: root,
        packageJson: { name: 'root', version: '0.0.0', private: true },
      }
      const pre = mode === undefined ? undefined : { mode, tag: 'rc' }
      const { releases } = assembleReleasePlan(
        intents.map(({ id, isUsed, bumps }) => ({
          id: isUsed ? `pre/${id}` : id,
          summary: '',
          text: '',
          releases: Array.from(bumps, ([name, type]) => ({ name, type })),
        })),
        {
          rootDir: root,
          rootPackage,
          tool: { type: 'yarn' },
          packages: manifests.map((packageJson) => ({
            dir: `${root}/packages/${packageJson.name}`,
            packageJson,
          })),
        },
        {
          fixed: fixed.length === 0 ? [] : [fixed],
          linked: linked.length === 0 ? [] : [linked],
          ignore: ignored,
          privatePackages: { version: scene.versionsPrivate, tag: false },
          bumpVersionsWithWorkspaceProtocolOnly: scene.isProtocolOnly,
          ___experimentalUnsafeOptions_WILL_CHANGE_IN_PATCH: {
            updateInternalDependents: scene.isAlways ? 'always' : 'out-of-range',
          },
        } as unknown as Parameters<typeof assembleReleasePlan>[2],
        pre,
      )
      const theirs = releases
        .filter(({ type }) => type !== 'none')
        .map(({ name, newVersion }) => [name, newVersion])

      const ours = new ChangesetReleases(
        sketchWorkspace(sketches),
        {
          fixed: fixed.length === 0 ? [] : [fixed],
          linked: linked.length === 0 ? [] : [linked],
          ignore: new Set(ignored),
          updateInternalDependents: scene.isAlways ? 'always' : 'out-of-range',
          versionsPrivate: scene.versionsPrivate,
          peers: 'patch-when-out-of-range',
          leastRangeBump: 'patch' as const,
          keepsPeers: false,
          workspaceProtocolOnly: scene.isProtocolOnly,
          access: undefined,
          changelog: true,
          usedIn: 'folder' as const,
        },
        pre,
      ).from(intents.map((intent) => ({ ...intent, file: '', summary: '', text: '' })))
      assert.deepEqual(
        Object.fromEntries(ours.map(({ name, version }) => [name, version])),
        Object.fromEntries(theirs),
      )
      compared++
      released += ours.length
    }),
    { numRuns: Number(process.env['HEDDLE_WITNESS_RUNS'] ?? 500) },
  )
  assert.ok(released > compared / 2, `only ${released} releases in ${compared} plans`)
  t.diagnostic(`${compared} plans with ${released} releases compared`)
})
