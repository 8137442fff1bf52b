/**
 * The environment of the compiler.
 *
 * One that answers once has ended before its memory is worth collecting: that is a quarter of its work (see
 * docs/decisions/0326). One that is kept must not grow, and a program that would fill the memory has to
 * be collected anyway.
 */

const mostFiles = 2000

/** What the user has set wins. */
export function environmentOf(
  files: readonly string[],
  isKept: boolean,
  user: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  return isKept || files.length > mostFiles ? user : { GOGC: 'off', GOMEMLIMIT: '1GiB', ...user }
}
