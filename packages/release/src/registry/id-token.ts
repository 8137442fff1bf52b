/** The identity that a build service gives to a job, for registries that trust it instead of a token. */
import type { WaitOptions } from '@heddle/core/lowlevel'
import type { HttpClient } from './http/client.ts'
import { requestWithRetry } from './http/request-retry.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export type BuildService = 'GitHub Actions' | 'GitLab CI'

export function buildServiceOf(env: Environment): BuildService | undefined {
  if (env['GITHUB_ACTIONS'] === 'true') return 'GitHub Actions'
  return env['GITLAB_CI'] === 'true' || env['GITLAB_CI'] === '1' ? 'GitLab CI' : undefined
}

export interface IdTokenQuestion {
  /** The reader that the token is meant for: `npm:registry.npmjs.org`, `pypi`. */
  readonly audience: string
  /** The variable that has a token already, as GitLab gives them. */
  readonly variable: string
}

/** Whether a build service lets this job prove its identity. */
export function hasIdentity(env: Environment, variable: string): boolean {
  if (env[variable]) return true
  const mayAsk = env['ACTIONS_ID_TOKEN_REQUEST_URL'] && env['ACTIONS_ID_TOKEN_REQUEST_TOKEN']
  return buildServiceOf(env) === 'GitHub Actions' && Boolean(mayAsk)
}

/**
 * A signed statement of the build service about this job; undefined outside of one, and where the job
 * has no right to it.
 *
 * *Cancellation*: leaves nothing behind.
 */
export async function readIdToken(
  http: HttpClient,
  env: Environment,
  { audience, variable }: IdTokenQuestion,
  wait: WaitOptions,
): Promise<string | undefined> {
  const given = env[variable]
  if (given !== undefined && given !== '') return given
  const address = env['ACTIONS_ID_TOKEN_REQUEST_URL']
  const secret = env['ACTIONS_ID_TOKEN_REQUEST_TOKEN']
  if (buildServiceOf(env) !== 'GitHub Actions' || !address || !secret) return undefined
  const url = new URL(address)
  url.searchParams.append('audience', audience)
  const headers = { accept: 'application/json', authorization: `Bearer ${secret}` }
  const action = 'asking GitHub for an identity token'
  const answer = await requestWithRetry(
    http,
    { method: 'GET', url: url.href, headers, action },
    wait,
  )
  return answer.status === 200 ? textField(answer.body, 'value') : undefined
}

/** A text of an answer in JSON; undefined when it has none. */
export function textField(body: Buffer, name: string): string | undefined {
  try {
    const value = (JSON.parse(body.toString()) as Record<string, unknown>)[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  } catch {
    return undefined
  }
}
