/** A workspace and how long everything takes in it, from a seed: the same for every entrant. */
import { seededRandom, type Random } from '@heddle/core/lowlevel'
import { buildTime } from '../conditions.ts'

export interface ModelPackage {
  readonly name: string
  /** Names of earlier packages. */
  readonly after: readonly string[]
  /** Longest way to a package that depends on nothing. */
  readonly level: number
  /** Milliseconds. */
  readonly build: number
  /** Milliseconds from the end of the upload until the registry shows it. */
  readonly visibility: number
}

export interface ReleaseModel {
  readonly seed: number
  /** Each package after its dependencies. */
  readonly packages: readonly ModelPackage[]
}

/**
 * Standard deviation of the logarithm: a third of all times is more than 1.2 times the median, one
 * in 40 more than 2.7 times.
 */
const spread = 0.5
const mostDependencies = 3

export function modelRelease(size: number, visibility: number, seed: number): ReleaseModel {
  const random = seededRandom(seed)
  const packages: ModelPackage[] = []
  for (let index = 0; index < size; index++) {
    const dependencies = pick(packages, random)
    packages.push({
      name: `p${index}`,
      after: dependencies.map(({ name }) => name),
      level: Math.max(-1, ...dependencies.map(({ level }) => level)) + 1,
      build: around(buildTime, random),
      visibility: around(visibility, random),
    })
  }
  return { seed, packages }
}

/** None to three earlier packages, each at most once. */
function pick(earlier: readonly ModelPackage[], random: Random): ModelPackage[] {
  const wanted = Math.min(Math.floor(random.next() * (mostDependencies + 1)), earlier.length)
  const chosen = new Set<ModelPackage>()
  while (chosen.size < wanted) chosen.add(earlier[Math.floor(random.next() * earlier.length)]!)
  return [...chosen]
}

/** Log-normal, as times usually are: many near the median, a few much longer. */
function around(median: number, random: Random): number {
  // Box and Muller's way from two even numbers to a normal one; zero has no logarithm.
  const radius = Math.sqrt(-2 * Math.log(1 - random.next()))
  return median * Math.exp(spread * radius * Math.cos(2 * Math.PI * random.next()))
}
