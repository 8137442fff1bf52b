/**
 * The artifacts of a run: `ctx.artifact(name, content)`.
 *
 *   written ──▶ durable         the attempt succeeds when all of its artifacts are
 *      └── the attempt fails, times out or is cancelled ──▶ dropped
 */
import type {
  ArtifactContent,
  ArtifactInfo,
  ArtifactQuota,
  ArtifactStore,
} from '../artifacts/artifact-store.ts'
import { checkQuota } from '../artifacts/check-artifact.ts'
import { objectionToContent } from '../artifacts/pieces.ts'
import { ownerName } from '../attempts/part-path.ts'
import { HeddleError, describe } from '../errors.ts'
import { checkMethods, checkOptions, type OptionNames } from '../kernel/check.ts'
import type { NodeAttempt } from '../scheduler/node-attempt.ts'
import { Part } from '../scheduler/part.ts'
import type { Growth } from '../scheduler/scheduler.ts'

export interface ArtifactOptions {
  /** Quotas for all artifacts of the run. Default 1 GiB and 10,000 artifacts. */
  readonly quota?: Partial<ArtifactQuota>
  /** Where they are written instead of beside the journal. The caller closes it. */
  readonly store?: Pick<ArtifactStore, 'put'>
}

const optionNames = { quota: 1, store: 1 } satisfies OptionNames<ArtifactOptions>

export function checkArtifacts(options: ArtifactOptions): void {
  checkOptions(options, optionNames, 'artifacts')
  const { quota, store } = options
  if (quota !== undefined) checkQuota(quota)
  if (store !== undefined) {
    checkMethods('artifacts.store', store, ['put'], 'a store of artifacts: openArtifacts(address)')
  }
}

/** The owner of an artifact. */
function ownerOf({ entry }: NodeAttempt): string {
  return ownerName(entry instanceof Part ? entry.root.name : entry.name, entry.name)
}

/** The artifacts that an attempt is writing. */
interface Writing {
  readonly controller: AbortController
  readonly puts: Set<Promise<ArtifactInfo>>
}

export class RunArtifacts {
  readonly #run: string
  readonly #store: Pick<ArtifactStore, 'put'>
  readonly #quota: Partial<ArtifactQuota> | undefined
  readonly #growth: Growth
  readonly #writing = new Map<NodeAttempt, Writing>()

  constructor(
    run: string,
    store: Pick<ArtifactStore, 'put'>,
    quota: Partial<ArtifactQuota> | undefined,
    growth: Growth,
  ) {
    this.#run = run
    this.#store = store
    this.#quota = quota
    this.#growth = growth
    growth.setArtifacts((attempt, name, content) => this.#put(attempt, name, content))
  }

  /** The artifacts that an attempt has not written yet; undefined when there are none. */
  pending(attempt: object): Promise<unknown> | undefined {
    const puts = this.#writing.get(attempt as NodeAttempt)?.puts
    return puts === undefined || puts.size === 0 ? undefined : Promise.all(puts)
  }

  #put(attempt: NodeAttempt, name: string, content: ArtifactContent): Promise<ArtifactInfo> {
    const objection = objectionToContent(content)
    if (objection !== undefined) return Promise.reject(objection)
    const { controller, puts } = this.#writingOf(attempt)
    const signal = AbortSignal.any([attempt.signal, controller.signal])
    const quota = this.#quota
    const put = this.#store.put(this.#run, name, content, {
      by: ownerOf(attempt),
      signal,
      ...(quota !== undefined && { quota }),
    })
    puts.add(put)
    put.then(
      () => puts.delete(put),
      (error: unknown) => {
        // The log says so, because a job may forget to wait for its artifact.
        if (!controller.signal.aborted) {
          attempt.log(`The artifact "${name}" was not written: ${describe(error)}`)
        }
        puts.delete(put)
      },
    )
    return put
  }

  #writingOf(attempt: NodeAttempt): Writing {
    let writing = this.#writing.get(attempt)
    if (writing !== undefined) return writing
    writing = { controller: new AbortController(), puts: new Set() }
    this.#writing.set(attempt, writing)
    const { controller } = writing
    this.#growth.onAttemptEnd(attempt, () => {
      this.#writing.delete(attempt)
      // Made here: the stack of an attempt that has succeeded is not worth its cost.
      if (writing.puts.size > 0) {
        controller.abort(
          new HeddleError('HDL_CLOSED', { what: `The attempt of "${attempt.name}"` }),
        )
      }
    })
    return writing
  }
}
