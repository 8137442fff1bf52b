/**
 * The environment of the compiler.
 *
 * One that answers once has ended before its memory is worth collecting: that is a quarter of its work (see
 * docs/decisions/0326). One that is kept must not grow, a program that would fill the memory has to be
 * collected anyway, and where there is little memory it is not ours to fill.
 */

const mostFiles = 2000

/** Four times the memory that the compiler may use before it collects after all. */
const leastMemory = 4 * 1024 ** 3

/**
 * A user who has set one of the two has thought about both, and keeps the setting.
 *
 * @param memory Bytes that can still be used, also where a container has less than the machine.
 */
export function environmentOf(
  files: readonly string[],
  isKept: boolean,
  user: NodeJS.ProcessEnv = process.env,
  memory: number = process.availableMemory(),
): NodeJS.ProcessEnv {
  const isSet = user['GOGC'] !== undefined || user['GOMEMLIMIT'] !== undefined
  const collects = isKept || isSet || files.length > mostFiles || memory < leastMemory
  return collects ? user : { ...user, GOGC: 'off', GOMEMLIMIT: '1GiB' }
}
