import { systemClock, type Clock } from './clock.ts'
import { systemRandom, type Random } from './random.ts'

/** What every part is given from the edge of the program instead of reaching for globals. */
export interface Kernel {
  readonly clock: Clock
  readonly random: Random
}

/** Real time and real randomness: the default of every option called `kernel`. */
export const systemKernel: Kernel = { clock: systemClock, random: systemRandom }
