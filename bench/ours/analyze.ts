import { analyze } from '@heddle/analyze'
import type { Sources } from '../suites/analyze/sources.ts'

export async function typed(sources: Sources): Promise<number> {
  const { findings, stats } = await analyze({ ...sources, types: 'auto' })
  if (stats.types === 'none') throw new Error('the types were lost')
  return findings.length
}

export async function untyped(sources: Sources): Promise<number> {
  const { findings } = await analyze({ ...sources, types: 'none' })
  return findings.length
}
