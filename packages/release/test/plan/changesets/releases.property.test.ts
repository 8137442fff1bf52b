import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import semver from 'semver'
import type { ChangesetsConfig } from '../../../src/plan/changesets/changesets-config.ts'
import type { Intent } from '../../../src/plan/changesets/intents.ts'
import { ChangesetReleases } from '../../../src/plan/changesets/releases.ts'
import type { Workspace } from '../../../src/model.ts'
import { sketchWorkspace, type Sketch } from '../sketch.ts'

interface Scene {
  readonly workspace: Workspace
  readonly config: ChangesetsConfig
  readonly intents: readonly Intent[]
}

const size = 6
const nameOf = (i: number): string => `p${i}`
const index = fc.nat(size - 1)
const range = fc.constantFrom('^1.0.0', '~1.0.0', 'workspace:*', 'workspace:^', '>=1.0.0', '1.x')
const edge = fc.tuple(index, index, fc.constantFrom('', 'dev:', 'peer:', 'optional:'), range)
const bump = fc.constantFrom('none' as const, 'patch' as const, 'minor' as const, 'major' as const)
const intentBumps = fc.array(fc.tuple(index, bump), { minLength: 1, maxLength: 3 })

const scenes: fc.Arbitrary<Scene> = fc
  .record({
    versions: fc.array(fc.constantFrom('1.0.0', '1.2.0', '1.0.3'), {
      minLength: size,
      maxLength: size,
    }),
    edges: fc.array(edge, { maxLength: 10 }),
    groups: fc.array(fc.constantFrom('fixed', 'linked', 'none'), {
      minLength: size,
      maxLength: size,
    }),
    intents: fc.array(intentBumps, { maxLength: 5 }),
    peers: fc.constantFrom(
      'major' as const,
      'major-when-out-of-range' as const,
      'patch-when-out-of-range' as const,
    ),
    isAlways: fc.boolean(),
    ignored: fc.option(index, { nil: undefined }),
  })
  .map(({ versions, edges, groups, intents, peers, isAlways, ignored }) => {
    const sketches: Record<string, Sketch> = {}
    for (let i = 0; i < size; i++) {
      const own = edges.filter(([from, to]) => from === i && to !== i)
      const needs = Object.fromEntries(
        own.map(([, to, group, written]) => [`${group}${nameOf(to)}`, written]),
      )
      sketches[nameOf(i)] = { version: versions[i]!, needs }
    }
    const members = (kind: string): string[][] => {
      const names = groups.flatMap((group, i) => (group === kind ? [nameOf(i)] : []))
      return names.length === 0 ? [] : [names]
    }
    return {
      workspace: sketchWorkspace(sketches),
      config: {
        fixed: members('fixed'),
        linked: members('linked'),
        ignore: new Set(ignored === undefined ? [] : [nameOf(ignored)]),
        updateInternalDependents: isAlways ? 'always' : 'out-of-range',
        versionsPrivate: true,
        peers,
        leastRangeBump: 'patch' as const,
        keepsPeers: false,
        workspaceProtocolOnly: false,
        access: undefined,
        changelog: true,
        usedIn: 'folder' as const,
      },
      intents: intents.map((bumps, i) => ({
        id: `i${i}`,
        file: `i${i}.md`,
        bumps: new Map(bumps.map(([at, kind]) => [nameOf(at), kind])),
        summary: '',
        text: '',
        isUsed: false,
      })),
    }
  })

function versionsOf(
  { workspace, config, intents }: Scene,
  count = intents.length,
): Map<string, string> {
  const releases = new ChangesetReleases(workspace, config, undefined).from(intents.slice(0, count))
  return new Map(releases.map(({ name, version }) => [name, version]))
}

test('property C1, C3: it ends, released versions go up, ignored packages stay, groups agree', () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      const versions = versionsOf(scene)
      for (const [name, version] of versions) {
        assert.ok(semver.gt(version, scene.workspace.packages.get(name)!.version))
        assert.ok(!scene.config.ignore.has(name))
      }
      for (const group of [...scene.config.fixed, ...scene.config.linked]) {
        const released = group
          .map((name) => versions.get(name))
          .filter((version) => version !== undefined)
        assert.ok(new Set(released).size <= 1)
      }
    }),
    { numRuns: 1_000 },
  )
})

test('property: one more intent never lowers a version or takes a release away', () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      for (let count = 0; count < scene.intents.length; count++) {
        const more = versionsOf(scene, count + 1)
        for (const [name, version] of versionsOf(scene, count))
          assert.ok(semver.gte(more.get(name)!, version))
      }
    }),
    { numRuns: 500 },
  )
})

test('property: the order of the intents and of the packages does not matter', () => {
  fc.assert(
    fc.property(scenes, (scene) => {
      const { workspace, intents } = scene
      const turned = {
        ...scene,
        workspace: { ...workspace, packages: new Map([...workspace.packages].reverse()) },
        intents: intents.toReversed(),
      }
      assert.deepEqual(versionsOf(turned), versionsOf(scene))
    }),
    { numRuns: 500 },
  )
})
