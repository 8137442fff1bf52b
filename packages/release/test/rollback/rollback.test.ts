import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isError } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import { releaseFolder } from '../../src/lock/release-folder.ts'
import type { ReleasePlan } from '../../src/model.ts'
import type { SelectionOptions } from '../../src/plan/selection.ts'
import { planFromManifests } from '../../src/plan/from-manifests.ts'
import { openRegistries, type Registries } from '../../src/registry/open-registries.ts'
import { releaseStatus } from '../../src/report/status.ts'
import {
  applyRollback,
  describeStep,
  planRollback,
  recordedReleases,
  type RecordedRelease,
} from '../../src/rollback/rollback.ts'
import { publishRelease } from '../../src/stages/release.ts'
import { startVerdaccio, type Verdaccio } from '../../src/testing/verdaccio.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { Monorepo } from '../support/monorepo.ts'

let registry: Verdaccio
before(async () => {
  registry = await startVerdaccio()
})
after(() => registry.close())

class Site implements AsyncDisposable {
  readonly repo: Monorepo
  readonly registries: Registries
  plan!: ReleasePlan

  constructor(repo: Monorepo, registries: Registries) {
    this.repo = repo
    this.registries = registries
  }

  static async open(repo: Monorepo): Promise<Site> {
    const site = new Site(
      repo,
      await openRegistries({ folder: repo.root, npm: registry.url, env: {} }),
    )
    await site.readPlan()
    return site
  }

  async readPlan(): Promise<void> {
    this.plan = await planFromManifests(await readWorkspace(this.repo.root))
  }

  async publish(): Promise<void> {
    const { registryOf } = this.registries
    const report = await publishRelease(this.plan, { registryOf, smoke: false })
    assert.equal(report.ok, true)
  }

  async steps(release?: string, chosen: SelectionOptions = {}): Promise<string[]> {
    const folder = await releaseFolder(this.repo.root)
    await using journal = await openJournal(`sqlite:${folder.journal}`, { readOnly: true })
    const options = { ...this.registries, ...chosen, ...(release !== undefined && { release }) }
    const todo = await planRollback(journal, options)
    return [...todo.steps.map(describeStep), ...todo.remarks]
  }

  async apply(release: string, most = Infinity): Promise<void> {
    const folder = await releaseFolder(this.repo.root)
    await using journal = await openJournal(`sqlite:${folder.journal}`, { readOnly: true })
    const options = { ...this.registries, release }
    const todo = await planRollback(journal, options)
    await applyRollback({ ...todo, steps: todo.steps.slice(0, most) }, options)
  }

  /** Ids, newest first. */
  async releases(): Promise<RecordedRelease[]> {
    const folder = await releaseFolder(this.repo.root)
    await using journal = await openJournal(`sqlite:${folder.journal}`, { readOnly: true })
    return await recordedReleases(journal)
  }

  bump(version: string): Promise<void> {
    for (const name of ['x', 'y']) {
      const dependencies = name === 'y' ? { x: 'workspace:^' } : {}
      this.repo.write(`packages/${name}/package.json`, { name, version, dependencies })
    }
    this.repo.commit(version)
    return this.readPlan()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.repo[Symbol.dispose]()
    await this.registries[Symbol.asyncDispose]()
  }
}

test('B1 B2 B3 a rollback moves tags back and deprecates, last first, and can be cut short', async () => {
  await using site = await Site.open(new Monorepo({ packages: { x: [], y: ['x'] } }))
  await site.publish()
  assert.deepEqual(await site.steps(), [
    'deprecate y@1.0.0: "This version was rolled back."',
    'deprecate x@1.0.0: "This version was rolled back."',
    'y@1.0.0 keeps "latest": no version had it before.',
    'x@1.0.0 keeps "latest": no version had it before.',
  ])

  await site.bump('1.1.0')
  // B4: the manifests have 1.1.0, and the released version is 1.0.0.
  assert.match((await site.steps())[0]!, /y@1\.0\.0/)
  await site.publish()
  // A second publish uploads nothing and is not rolled back.
  await site.publish()
  const all = [
    'move the dist-tag "latest" of y from 1.1.0 back to 1.0.0',
    'deprecate y@1.1.0: "This version was rolled back."',
    'move the dist-tag "latest" of x from 1.1.0 back to 1.0.0',
    'deprecate x@1.1.0: "This version was rolled back."',
  ]
  await assert.rejects(site.steps(), (error) => isError(error, 'HDL_RELEASE_UNKNOWN'))
  const [last, first] = await site.releases()
  assert.deepEqual(
    [last?.versions, first?.versions],
    [
      ['x@1.1.0', 'y@1.1.0'],
      ['x@1.0.0', 'y@1.0.0'],
    ],
  )
  const { id } = last!
  assert.deepEqual(await site.steps(id), all)
  assert.deepEqual(await site.steps(id, { include: ['y'] }), all.slice(0, 2))
  assert.deepEqual(await site.steps(id, { exclude: ['y'] }), all.slice(2))
  await assert.rejects(site.steps(id, { include: ['z'] }), (error) =>
    isError(error, 'HDL_BAD_OPTION'),
  )
  await site.apply(id, 1)
  assert.deepEqual(await site.steps(id), all.slice(1))
  await site.apply(id)
  assert.deepEqual(await site.steps(id), [])
  const { packages, last: run, holder } = await releaseStatus(site.plan, site.registries)
  assert.deepEqual(
    packages.map(({ name, isPublished, taggedVersion, deprecated, gitTag }) => [
      name,
      isPublished,
      taggedVersion,
      deprecated,
      gitTag,
    ]),
    [
      ['x', true, '1.0.0', 'This version was rolled back.', 'x@1.1.0'],
      ['y', true, '1.0.0', 'This version was rolled back.', 'y@1.1.0'],
    ],
  )
  assert.equal(run?.state, 'finished')
  assert.equal(holder, undefined)
})
