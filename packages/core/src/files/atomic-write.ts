import { checkOptions, type OptionNames } from '../kernel/check.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { attributesOf, fileError, replaceFile, resolveTarget, tempBeside } from './replace.ts'

export interface WriteAtomicOptions {
  readonly kernel?: Kernel
}

const optionNames = {
  kernel: 1,
} satisfies OptionNames<WriteAtomicOptions>

/**
 * Writes a file so that, after a crash or a power failure at any instant, it has either its old
 * content or the new one, whole.
 *
 * The mode and, where the system allows it, the owner of an existing file are kept; a symbolic
 * link keeps pointing to its target, which is replaced. Other hard links to the file keep the old
 * content. Of writers at the same time the last one to finish wins, whole.
 *
 * *Cancellation*: cannot be cancelled.
 * *Fairness*: writers do not wait for one another.
 *
 * @throws `HDL_STORE_FAILED`; the old content is still there, and nothing else is left behind.
 * @example
 * await writeAtomic('state.json', JSON.stringify(state))
 */
export async function writeAtomic(
  file: string,
  content: string | Uint8Array,
  options: WriteAtomicOptions = {},
): Promise<void> {
  checkOptions(options, optionNames)
  const { random } = options.kernel ?? systemKernel
  try {
    const target = await resolveTarget(file)
    const attributes = await attributesOf(target)
    await replaceFile({ target, temp: tempBeside(target, random), attributes, content })
  } catch (error) {
    throw fileError(file, 'be written', error)
  }
}
