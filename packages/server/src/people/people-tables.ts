/** What the store holds of people. Secrets are stored as hashes only. */
import type { StoredRecord, Table } from '@heddle/core/lowlevel'
import type { Role } from '../http/caller.ts'

/** `pending`: it has no password yet, only a link. */
export type UserState = 'active' | 'pending' | 'blocked'

export interface UserRecord extends StoredRecord {
  /** In lower case: names differ by more than case. */
  readonly name: string
  readonly role: Role
  readonly state: UserState
  readonly tenant: string
  /** Argon2id. Absent while pending. */
  readonly password?: string
  readonly createdAt: number
}

/** Its id is the hash of the cookie's secret. */
export interface SessionRecord extends StoredRecord {
  readonly user: string
  readonly csrf: string
  readonly createdAt: number
  readonly rotatedAt: number
  readonly expiresAt: number
  readonly remember: boolean
  readonly address: string
}

/** Its id is the public part of the token. */
export interface TokenRecord extends StoredRecord {
  readonly name: string
  /** SHA-256 of the secret part, which has 256 bits: no slower hash is needed. */
  readonly hash: string
  readonly scopes: readonly string[]
  readonly tenant: string
  readonly createdBy: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly revokedAt?: number
}

/** A link that sets a password once. Its id is the hash of the link's secret. */
export interface LinkRecord extends StoredRecord {
  readonly user: string
  readonly expiresAt: number
}

/** One line of the audit log. */
export interface ActionRecord extends StoredRecord {
  readonly at: number
  readonly by: string
  readonly action: string
  readonly target: string
  readonly address: string
  /** Whose line it is. Absent in lines of earlier versions, which admins see. */
  readonly tenant?: string
  readonly detail?: string
}

export interface SettingRecord extends StoredRecord {
  readonly value: string
}

export const users: Table<UserRecord> = {
  name: 'people_user',
  columns: {
    name: 'text',
    role: 'text',
    state: 'text',
    tenant: 'text',
    password: 'text',
    createdAt: 'number',
  },
  unique: [['name']],
  indexes: [['name']],
}

export const sessions: Table<SessionRecord> = {
  name: 'people_session',
  columns: {
    user: 'text',
    csrf: 'text',
    createdAt: 'number',
    rotatedAt: 'number',
    expiresAt: 'number',
    remember: 'boolean',
    address: 'text',
  },
  indexes: [['user', 'createdAt'], ['expiresAt']],
}

export const tokens: Table<TokenRecord> = {
  name: 'people_token',
  columns: {
    name: 'text',
    hash: 'text',
    scopes: 'json',
    tenant: 'text',
    createdBy: 'text',
    createdAt: 'number',
    expiresAt: 'number',
    revokedAt: 'number',
  },
  unique: [['name']],
  indexes: [['createdAt']],
}

export const links: Table<LinkRecord> = {
  name: 'people_link',
  columns: { user: 'text', expiresAt: 'number' },
  indexes: [['expiresAt']],
}

export const actions: Table<ActionRecord> = {
  name: 'people_action',
  columns: {
    at: 'number',
    by: 'text',
    action: 'text',
    target: 'text',
    address: 'text',
    tenant: 'text',
    detail: 'text',
  },
  indexes: [['at'], ['tenant', 'at'], ['by', 'at'], ['action', 'at'], ['target', 'at']],
}

export const settings: Table<SettingRecord> = {
  name: 'people_setting',
  columns: { value: 'text' },
}

export const peopleTables = [users, sessions, tokens, links, actions, settings] as const
