import { isError, type RunEvent } from '@heddle/core'
import { pinInPlace } from '../pin/pin-in-place.ts'
import { endedStates, partsOf } from './stages.ts'
import type { Release } from './stage-functions.ts'

/** Manifests that are pinned until the last package is packed, not until the last one is visible. */
export interface StagePins extends AsyncDisposable {
  readonly observe: (event: RunEvent) => void
}

export async function holdPins({ plan }: Release, journalFolder: string): Promise<StagePins> {
  const included = [...plan.packages.values()].filter(({ status }) => status === 'included')
  const pins = await pinInPlace(plan, included, { journalFolder })
  const left = new Set(included.map((planned) => planned.package.name))
  let restoring: Promise<void> | undefined
  return {
    observe: (event) => {
      if (event.type !== 'node' || !endedStates.has(event.state)) return
      const parts = partsOf(event.name)
      if (parts?.stage !== 'pack') return
      left.delete(parts.name)
      if (left.size > 0) return
      restoring ??= pins.restore()
      // Reported at the end, by the disposal: nothing else waits for it.
      restoring.catch(() => undefined)
    },
    [Symbol.asyncDispose]: async () => {
      const early = await Promise.allSettled(restoring === undefined ? [] : [restoring])
      // Tries again what failed for a reason that may pass. Only the first try reports a conflict.
      await pins.restore()
      for (const result of early) {
        if (result.status === 'rejected' && isError(result.reason, 'HDL_RESTORE_CONFLICT')) {
          throw result.reason
        }
      }
    },
  }
}
