import type { Location } from '../ir/locations.ts'
import type { CallSite } from '../ir/program.ts'
import type { EffectsByLocation } from '../summaries/effects-by-location.ts'
import { unseenTargetsOf } from '../summaries/order.ts'
import type { Host } from './host.ts'
import type { Model } from './model.ts'

/**
 * What the functions do that a host calls, and those that it waits for do later. It says at once that
 * nothing happens to a location, which is the answer mostly, and the walk along paths is left out.
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
