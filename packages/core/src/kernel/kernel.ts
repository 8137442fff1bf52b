import { checkMethods, checkRecord } from './check.ts'
import { systemClock, type Clock } from './clock.ts'
import { systemRandom, type Random } from './random.ts'

/** The dependencies that every part gets from the edge of the program, instead of globals. */
export interface Kernel {
  readonly clock: Clock
  readonly random: Random
}

/** Real time and real randomness: the default of every option called `kernel`. */
export const systemKernel: Kernel = { clock: systemClock, random: systemRandom }

/** The kernel of these options, or the real one. */
export function kernelOf(options: { readonly kernel?: Kernel | undefined }): Kernel {
  const { kernel } = options
  if (kernel === undefined) return systemKernel
  const expected = 'an object with a clock and a source of randomness: { clock, random }'
  checkRecord('kernel', kernel, expected)
  checkMethods('kernel.clock', kernel.clock, ['now', 'setTimer'], 'a clock')
  checkMethods('kernel.random', kernel.random, ['next'], 'a source of randomness')
  return kernel
}
