import { HeddleError } from '@heddle/core'
import type { WaitOptions } from '@heddle/core/lowlevel'
import { converge } from '../converge.ts'
import type { HttpAnswer, HttpRequest } from '../http/request.ts'
import type { StagedVersion, Stages } from '../registry.ts'
import { hashesOf, noHash } from './integrity.ts'
import type { NpmRequests } from './requests.ts'
import { stagedUrl, stageListUrl } from './urls.ts'

type Decision = WaitOptions & { readonly otp?: string }

interface StagePage {
  readonly total?: number
  readonly items?: readonly {
    readonly id?: string
    readonly stageId?: string
    readonly packageName?: string
    readonly name?: string
    readonly version: string
    readonly tag?: string
    readonly integrity?: unknown
    readonly dist?: { readonly integrity?: unknown }
  }[]
}

const perPage = 100

/** Staged publishing of npm: versions that are staged and become public when they are approved. */
export class NpmStages implements Stages {
  readonly #requests: NpmRequests

  constructor(requests: NpmRequests) {
    this.#requests = requests
  }

  /** @throws `HDL_REGISTRY_UNSUPPORTED` when the registry knows nothing of stages. */
  async list(name?: string, wait: WaitOptions = {}): Promise<readonly StagedVersion[]> {
    const { url } = this.#requests
    const all: StagedVersion[] = []
    for (let page = 0; ; page++) {
      const answer = await this.#requests.get(
        {
          method: 'GET',
          url: stageListUrl(url, page, perPage, name),
          action: 'GET staged versions',
        },
        wait,
      )
      const { items, total } = answer.status === 200 ? pageOf(answer) : {}
      if (items === undefined) throw unsupported(url)
      for (const item of items) {
        const { id, stageId, packageName, name: itemName, version, tag, integrity, dist } = item
        const hash = hashesOf(integrity ?? dist?.integrity)
        all.push({
          id: id ?? stageId ?? '',
          name: packageName ?? itemName ?? '',
          version,
          ...(tag === undefined ? {} : { tag }),
          ...(hash === noHash ? {} : { integrity: hash }),
        })
      }
      if (items.length < perPage || all.length >= (total ?? Infinity)) return all
    }
  }

  /** A version that is no longer listed after a lost answer was approved or rejected: a read shows which. */
  async approve(id: string, options: Decision = {}): Promise<void> {
    const url = stagedUrl(this.#requests.url, id, 'approve')
    await this.#decide(id, { method: 'POST', url, action: `approving stage ${id}` }, options)
  }

  async reject(id: string, options: Decision = {}): Promise<void> {
    const url = stagedUrl(this.#requests.url, id)
    await this.#decide(id, { method: 'DELETE', url, action: `rejecting stage ${id}` }, options)
  }

  async #decide(id: string, request: HttpRequest, options: Decision): Promise<void> {
    const { kernel } = this.#requests
    await converge(
      {
        what: request.action!,
        kernel,
        writeFirst: true,
        isDone: async (wait) => !(await this.list(undefined, wait)).some((each) => each.id === id),
        write: async (wait) =>
          void (await this.#requests.write(request, wait, { otp: options.otp })),
      },
      options,
    )
  }
}

/** A registry without stages may take the address for the name of a package, and answer with that. */
function pageOf(answer: HttpAnswer): StagePage {
  try {
    return JSON.parse(answer.body.toString()) as StagePage
  } catch {
    return {}
  }
}

function unsupported(registry: string): HeddleError {
  return new HeddleError('HDL_REGISTRY_UNSUPPORTED', {
    registry,
    feature: 'staged publishing',
    instead:
      'Publish under another tag first (`--dist-tag next`), and move `latest` when everything is there.',
  })
}
