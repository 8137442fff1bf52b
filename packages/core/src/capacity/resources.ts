/** The resources of a run or a process, in the form of options. */
import { HeddleError } from '../errors.ts'
import { checkCount, checkOptions, checkRecord, type OptionNames } from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import {
  makePermits,
  type ClusterPermitOptions,
  type Meter,
  type PermitOptions,
} from '../kernel/permits.ts'
import { ClusterPermits } from './cluster-permits.ts'
import { makeRate, type RateOptions } from './rate.ts'

/** This many permits for each key: `{ tenant: { each: 2 } }` with `needs: { tenant: 'acme' }`. */
export interface EachOptions {
  readonly each: number
}

/** A number of permits, of this process or of all servers, a rate, or a limit for each key. */
export type ResourceOptions =
  | number
  | PermitOptions
  | ClusterPermitOptions
  | RateOptions
  | EachOptions

export type Resources = Readonly<Record<string, ResourceOptions>>

/** How many attempts run at once: over all places, or at each. */
export type Concurrency =
  | number
  | { readonly loop?: number; readonly thread?: number; readonly fleet?: number }

export const placeNames = ['loop', 'thread', 'fleet'] as const

const clusterNames = { permits: 1, scope: 1 } satisfies OptionNames<ClusterPermitOptions>

const eachNames = { each: 1 } satisfies OptionNames<EachOptions>

export const concurrencyNames = { loop: 1, thread: 1, fleet: 1 } satisfies OptionNames<
  Exclude<Concurrency, number>
>

/** How the meters of one resource are made: one, or one for each key. */
export type ResourceKind =
  | { readonly isKeyed: false; readonly meter: Meter }
  | { readonly isKeyed: true; readonly each: number }

/** The resources of a run or a process, by name. */
export function readResources(
  resources: Resources,
  clock: Clock,
): readonly (readonly [name: string, kind: ResourceKind])[] {
  const expected = 'an object: { db: 4, api: { limit: 20, per: 1000 }, tenant: { each: 2 } }'
  return Object.entries(checkRecord('resources', resources, expected)).map(
    ([name, options]) => [name, readResource(name, options, clock)] as const,
  )
}

/** @throws `HDL_BAD_OPTION` with the possible forms. */
function readResource(name: string, options: ResourceOptions, clock: Clock): ResourceKind {
  const option = `resources.${name}`
  if (name === 'slot' || (placeNames as readonly string[]).includes(name)) {
    throw new HeddleError('HDL_BAD_OPTION', {
      option,
      value: options,
      expected: 'to be set by `concurrency`, a number or { loop, thread, fleet }',
    })
  }
  if (typeof options === 'number') return { isKeyed: false, meter: makePermits(option, options) }
  if (typeof options === 'object' && options !== null) {
    if ('scope' in options) return { isKeyed: false, meter: makeClusterPermits(option, options) }
    if ('each' in options) {
      checkOptions(options, eachNames, option)
      return { isKeyed: true, each: checkCount(`${option}.each`, options.each) }
    }
    if ('limit' in options) return { isKeyed: false, meter: makeRate(option, options, clock) }
    if ('permits' in options) return { isKeyed: false, meter: makePermits(option, options) }
  }
  throw new HeddleError('HDL_BAD_OPTION', {
    option,
    value: options,
    expected:
      "a number of permits, { permits, reserved }, { permits, scope: 'cluster' }, a rate { limit, per } or { each }",
  })
}

/** @throws `HDL_BAD_OPTION`, `HDL_UNKNOWN_OPTION`. */
function makeClusterPermits(option: string, options: ClusterPermitOptions): ClusterPermits {
  if (options.scope !== 'cluster' || !('permits' in options)) {
    throw new HeddleError('HDL_BAD_OPTION', {
      option,
      value: options,
      expected: "{ permits, scope: 'cluster' }: rates and limits for each key hold for one process",
    })
  }
  checkOptions(options, clusterNames, option)
  return new ClusterPermits(checkCount(`${option}.permits`, options.permits))
}
