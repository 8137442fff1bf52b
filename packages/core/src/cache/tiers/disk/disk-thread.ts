import { workerData } from 'node:worker_threads'
import { hostFile } from '../../../sqlite/host-thread.ts'
import type { DiskThreadData } from './messages.ts'
import { DiskRole } from './role.ts'

hostFile(new DiskRole(workerData as DiskThreadData), { looksOut: false })
