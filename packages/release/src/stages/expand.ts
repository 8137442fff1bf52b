/**
 * From a plan to a graph of stages.
 *
 * Edges between packages are few: a package is built after its dependencies are built, and uploaded
 * after its dependencies can be installed. Nothing of any package happens before all manifests are known
 * to be free of local ranges, and nothing is built before all have been checked. With staging, nothing is approved
 * before everything has been staged, and a package is approved once its dependencies can be installed.
 */
import { Graph, job, type JobContext, type NodeRef } from '@heddle/core'
import type { PackedPackage, PlannedPackage } from '../model.ts'
import type { ProvenanceBundle } from '../registry/npm/provenance.ts'
import { inReleaseOrder } from '../plan/output/plan-levels.ts'
import { nodeName, stageNeeds, type StageName } from './stages.ts'
import * as work from './stage-functions.ts'
import type { Checked, Release, Uploaded } from './stage-functions.ts'

/** The results of a package that later packages wait for. */
interface Built {
  readonly build: NodeRef
  /** Undefined in a dry run. */
  readonly gate: NodeRef | undefined
}

/** A package staged for approval. */
interface HandedIn {
  readonly planned: PlannedPackage
  readonly check: NodeRef<Checked>
  readonly pack: NodeRef<PackedPackage | null>
  readonly upload: NodeRef<Uploaded>
}

export function expand(release: Release): Graph {
  return new Expansion(release).graph
}

class Expansion {
  readonly graph = new Graph()
  readonly #release: Release
  readonly #manifests: NodeRef
  readonly #checks: ReadonlyMap<string, NodeRef<Checked>>
  readonly #checked: NodeRef
  readonly #tagging: NodeRef
  readonly #done = new Map<string, Built>()

  constructor(release: Release) {
    this.#release = release
    const included = inReleaseOrder(release.plan).filter(({ status }) => status === 'included')
    this.#manifests = this.#checkManifests(included)
    this.#checks = new Map(
      included.map(({ package: { name } }) => [name, this.#addCheck(name)] as const),
    )
    this.#checked = this.#recordChecks()
    this.#tagging = this.#markTagging()
    const handedIn: HandedIn[] = []
    for (const planned of included) {
      const { name } = planned.package
      const packed = this.#prepare(planned)
      if (release.options.dryRun === true) {
        this.#done.set(name, { build: packed.build, gate: undefined })
        continue
      }
      const before = release.options.staged === true ? [] : this.#gates(planned)
      const upload = this.#upload(name, packed, before)
      this.#done.set(name, { build: packed.build, gate: upload })
      const entry = { planned, check: packed.check, pack: packed.pack, upload }
      if (release.options.staged === true) handedIn.push(entry)
      else this.#finish(entry, upload)
    }
    for (const entry of handedIn) {
      const all = handedIn.map(({ upload }) => upload)
      this.#finish(entry, this.#approve(entry, [...all, ...this.#gates(entry.planned)]))
    }
  }

  #checkManifests(included: readonly PlannedPackage[]): NodeRef {
    const checked = included.map(({ package: { name } }) =>
      this.graph.add(
        nodeName(name, 'manifest'),
        stageJob('manifest', () => work.manifest(this.#release, name)),
      ),
    )
    return this.#all('all manifests', checked)
  }

  /** An input of its own, as `sources`: a release that is resumed with another format or with a remote tags again. */
  #markTagging(): NodeRef {
    const { push = null, tagFormat = null, forge } = this.#release.options
    return this.graph.add(
      'how tags are made',
      stageJob('manifest', (mark: string) => mark),
      { input: JSON.stringify([push, tagFormat, forge?.url ?? null]) },
    )
  }

  /**
   * Nothing is built before all have been checked, and nothing is uploaded before other clones can read the versions
   * that may be uploaded.
   */
  #recordChecks(): NodeRef {
    const release = this.#release
    const checks = [...this.#checks]
    return this.graph.add(
      'all checks',
      stageJob('manifest', (absent: readonly string[]) =>
        release.options.dryRun === true ? undefined : release.recordUploads(absent),
      ),
      {
        after: checks.map(([, check]) => check),
        input: (of) => checks.flatMap(([name, check]) => (of(check).isOld ? [] : [name])),
      },
    )
  }

  #all(name: string, after: readonly NodeRef[]): NodeRef {
    return this.graph.add(
      name,
      stageJob('manifest', () => undefined),
      { after },
    )
  }

  #addCheck(name: string): NodeRef<Checked> {
    const release = this.#release
    return this.graph.add(
      nodeName(name, 'check'),
      stageJob('check', (_: undefined, context) => work.check(release, name, context)),
      { after: [this.#manifests] },
    )
  }

  #gates({ after }: PlannedPackage): NodeRef[] {
    return after.flatMap((name) => this.#done.get(name)?.gate ?? [])
  }

  #prepare(planned: PlannedPackage): {
    readonly check: NodeRef<Checked>
    readonly build: NodeRef
    readonly pack: NodeRef<PackedPackage | null>
  } {
    const release = this.#release
    const { name } = planned.package
    const check = this.#checks.get(name)!
    // An input of its own, so that everything after it is done again where it has changed (G4).
    const sources = this.graph.add(
      nodeName(name, 'sources'),
      stageJob('sources', (mark: string) => mark),
      { input: release.sourcesOf(name) },
    )
    const builtFirst = planned.after.flatMap((each) => this.#done.get(each)?.build ?? [])
    const build = this.graph.add(
      nodeName(name, 'build'),
      stageJob('build', async ({ isOld }: Checked, context) => {
        if (!isOld) await work.build(release, name, context)
      }),
      { after: [check, this.#checked, sources, ...builtFirst], input: (of) => of(check) },
    )
    const pack = this.graph.add(
      nodeName(name, 'pack'),
      stageJob('pack', ({ isOld }: Checked, context) =>
        isOld ? null : work.pack(release, name, context),
      ),
      { after: [check, build], input: (of) => of(check) },
    )
    return { check, build, pack }
  }

  #upload(
    name: string,
    { pack }: { readonly pack: NodeRef<PackedPackage | null> },
    gates: readonly NodeRef[],
  ): NodeRef<Uploaded> {
    const release = this.#release
    // An input of its own: an upload that was taken and lost is begun and sent again, from the same archive.
    const turn = this.graph.add(
      nodeName(name, 'turn'),
      stageJob('turn', (count: number) => count),
      { input: release.turnOf(name) },
    )
    const begin = this.graph.add(
      nodeName(name, 'begin'),
      stageJob('begin', (packed: PackedPackage | null, context) =>
        packed === null ? null : work.begin(release, name, context),
      ),
      { after: [pack, turn, ...gates], input: (of) => of(pack) },
    )
    const sign = release.isSigned(name) ? this.#sign(name, pack) : undefined
    return this.graph.add(
      nodeName(name, 'upload'),
      stageJob(
        'upload',
        (
          { packed, signed }: { packed: PackedPackage | null; signed: ProvenanceBundle | null },
          context,
        ): Uploaded | Promise<Uploaded> =>
          packed === null
            ? { outcome: 'already-published', uploads: 0 }
            : work.upload(release, packed, signed ?? undefined, context),
      ),
      {
        after: [pack, begin, ...(sign === undefined ? [] : [sign])],
        input: (of) => ({ packed: of(pack), signed: sign === undefined ? null : of(sign) }),
      },
    )
  }

  /** Once for each archive: a second upload sends the same statement. */
  #sign(name: string, pack: NodeRef<PackedPackage | null>): NodeRef<ProvenanceBundle | null> {
    return this.graph.add(
      nodeName(name, 'sign'),
      stageJob('sign', (packed: PackedPackage | null, context) =>
        packed === null ? null : work.sign(this.#release, packed, context),
      ),
      { after: [pack], input: (of) => of(pack) },
    )
  }

  #approve({ planned, pack, upload }: HandedIn, after: readonly NodeRef[]): NodeRef {
    return this.graph.add(
      nodeName(planned.package.name, 'approve'),
      stageJob(
        'approve',
        async (
          { packed, uploaded }: { packed: PackedPackage | null; uploaded: Uploaded },
          context,
        ) => {
          if (packed !== null) await work.approve(this.#release, packed, uploaded, context)
        },
      ),
      {
        after: [pack, upload, ...after],
        input: (of) => ({ packed: of(pack), uploaded: of(upload) }),
      },
    )
  }

  /** From accepted to tagged. Dependents of this package wait for the part that the gate names. */
  #finish({ planned, check, pack, upload }: HandedIn, accepted: NodeRef): void {
    const release = this.#release
    const { gate = 'visible', smoke = true, tag = true } = release.options
    const { name } = planned.package
    const withPacked = (
      stage: StageName,
      action: (packed: PackedPackage, context: JobContext) => Promise<void>,
      after: NodeRef,
    ): NodeRef =>
      this.graph.add(
        nodeName(name, stage),
        stageJob(stage, async (packed: PackedPackage | null, context) => {
          if (packed !== null) await action(packed, context)
        }),
        { after: [pack, after], input: (of) => of(pack) },
      )

    const visible = this.graph.add(
      nodeName(name, 'visible'),
      stageJob(
        'visible',
        async (
          { packed, checked }: { packed: PackedPackage | null; checked: Checked },
          context,
        ) => {
          if (packed !== null) await work.visible(release, packed, context)
          else if (checked.isOfThisCommit) await work.installable(release, name, context)
        },
      ),
      {
        after: [check, pack, accepted],
        input: (of) => ({ packed: of(pack), checked: of(check) }),
      },
    )
    const { build } = this.#done.get(name)!
    this.#done.set(name, { build, gate: gate === 'visible' ? visible : accepted })
    const verified = withPacked('verify', (...args) => work.verify(release, ...args), visible)
    if (work.hasPublishScripts(release, name)) {
      this.graph.add(
        nodeName(name, 'scripts'),
        stageJob('scripts', async ({ outcome }: Uploaded, context) => {
          if (outcome !== 'already-published') await work.runPublishScripts(release, name, context)
        }),
        { after: [upload, verified], input: (of) => of(upload) },
      )
    }
    if (smoke) this.#smoke(name, pack, upload, verified)
    if (!tag || release.repository === undefined) return
    // Not after the smoke test: a published version has a tag, whether it works or not.
    const tagged = this.graph.add(
      nodeName(name, 'tag'),
      // null, because the journal keeps plain data, which `undefined` is not.
      stageJob('tag', async ({ isOld, isOfThisCommit }: Checked, context) => {
        if (!isOld || isOfThisCommit) return (await work.tag(release, name, context)) ?? null
        release.gitTags?.leaveOut()
        return null
      }),
      { after: [check, verified, this.#tagging], input: (of) => of(check) },
    )
    const { forge } = release.options
    if (forge === undefined) return
    this.graph.add(
      nodeName(name, 'notes'),
      stageJob('notes', async (made: string | null, context) => {
        if (made !== null) await work.announce(release, forge, name, made, context)
      }),
      { after: [tagged], input: (of) => of(tagged) },
    )
  }

  /** Versions that were there before have been installed by users. */
  #smoke(
    name: string,
    pack: NodeRef<PackedPackage | null>,
    upload: NodeRef<Uploaded>,
    verified: NodeRef,
  ): void {
    this.graph.add(
      nodeName(name, 'smoke'),
      stageJob(
        'smoke',
        async (
          { packed, outcome }: { packed: PackedPackage | null; outcome: Uploaded['outcome'] },
          context,
        ) => {
          if (packed === null || outcome === 'already-published') return
          await work.smoke(this.#release, packed, context)
        },
      ),
      {
        after: [pack, upload, verified],
        input: (of) => ({ packed: of(pack), outcome: of(upload).outcome }),
      },
    )
  }
}

function stageJob<I, O>(
  stage: StageName,
  run: (input: I, context: JobContext) => O | Promise<O>,
): ReturnType<typeof job<I, O>> {
  // Its own budget ends the wait for visibility; a timeout would only cut it short.
  const timeout = stage === 'visible' ? { timeout: Infinity } : {}
  return job({ name: stage, needs: stageNeeds[stage], ...timeout }, run)
}
