import type { FleetWorker, Refusal } from '../fleet/fleet-worker.ts'
import { noPlaceFor } from '../fleet/why-waiting.ts'
import type { CampaignSpec } from './campaign-spec.ts'
import { matches } from './matches.ts'

/** Why this worker cannot have a lease of a campaign; undefined when it can. */
export function refusalOf(spec: CampaignSpec, worker: FleetWorker): Refusal | undefined {
  const { needs, job, version, name } = spec
  const { capabilities, tags, memory, threads, system, jobs } = worker.description
  const missing = needs.capabilities.find((each) => !capabilities.includes(each))
  if (missing !== undefined) return lacks(name, `capability ${missing}`)
  const tag = needs.tags.find((each) => !tags.includes(each))
  if (tag !== undefined) return lacks(name, `tag ${tag}`)
  if (memory < needs.memory) return lacks(name, `${needs.memory} MB of memory, not ${memory}`)
  if (threads < needs.minThreads) return lacks(name, `${needs.minThreads} threads, not ${threads}`)
  if (threads > needs.maxThreads) {
    return lacks(name, `at most ${needs.maxThreads} threads, not ${threads}`)
  }
  if (!matches(needs.system, system)) return lacks(name, `a system like ${needs.system}`)
  const versions = jobs.filter((each) => each.name === job).map((each) => each.version)
  if (versions.length === 0) return lacks(name, `job ${job}`)
  if (versions.includes(version)) return noPlaceFor(worker, job)
  const message = `campaign ${name} needs ${job} version ${version}; this worker has ${versions.join(', ')}`
  return { reason: 'version', message }
}

function lacks(campaign: string, what: string): Refusal {
  return { reason: 'capability', message: `campaign ${campaign} needs ${what}` }
}
