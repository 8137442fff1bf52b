import type { Location } from '../ir/locations.ts'
import type { CallSite } from '../ir/program.ts'
import type { EffectsByLocation } from '../summaries/effects-by-location.ts'
import { unseenTargetsOf } from '../summaries/call-order.ts'
import type { Host } from './host.ts'
import type { Model } from './program-model.ts'

/**
 * The effects of the functions that a host calls, and the later effects of those that it awaits. It answers at once
 * when nothing happens to a location, which is usual, and saves the walk along paths.
 */
export class InnerEffects {
  readonly #model: Model
  readonly #host: Host
  #known: ReadonlySet<EffectsByLocation> | undefined

  constructor(model: Model, host: Host) {
    this.#model = model
    this.#host = host
  }

  /** Whether any of them stores to a location. */
  store(location: Location): boolean {
    this.#known ??= this.#collect()
    for (const effects of this.#known) if (effects.get(location)?.store !== undefined) return true
    return false
  }

  #collect(): ReadonlySet<EffectsByLocation> {
    const known = new Set<EffectsByLocation>()
    const add = (site: CallSite, phase: 'before' | 'after'): void => {
      if (site.targets.length === 0) return
      for (const target of unseenTargetsOf(site)) {
        const effects = this.#model.summaries(target)[phase]
        if (effects.size > 0) known.add(effects)
      }
    }
    for (const { event } of this.#host.linked) add(event, 'before')
    for (const { event } of this.#host.suspensions)
      for (const site of event.joins) add(site, 'after')
    return known
  }
}
