/** The options of `heddle serve`, checked. */
import type { ServerConfig, ServerLimits } from '@heddle/server'

/** The flags as they are typed. */
export interface ServeFlags {
  readonly config?: string
  readonly jobs: string
  readonly store?: string
  readonly host: string
  readonly port: number
  readonly threads?: number
  readonly advertise?: string
  readonly clusterSecretFile?: string
  readonly resultMemory?: number
  readonly resultDisk?: number
  readonly log?: string
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error'
  readonly logRedact?: string[]
  readonly inventory?: string
  readonly drainDeadline: number
  readonly limit?: ServerLimits
  readonly json?: boolean
  readonly color: boolean
}

/** Flags and config file together. */
export interface ServeSettings extends ServerConfig {
  /** The module, from the current folder. */
  readonly jobs: string
  readonly limits: ServerLimits
  readonly json: boolean
  readonly color: boolean
}

export const defaults = {
  jobs: 'jobs.ts',
  store: 'sqlite:.heddle/serve.db',
  host: '127.0.0.1',
  port: 4_500,
  drainDeadline: 10_000,
} as const
