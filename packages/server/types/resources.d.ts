// Generated from lifecycles.json and catalogue.json. To change it, change these files, then run
// UPDATE_DOCS=1 npx vitest run packages/server/test/docs.test.ts

interface Reference {
  type: string;
  id: string;
}

export interface Resources {
  'service-lines': {
    resource: {
      readonly id: string;
      readonly type: 'service_line';
      readonly organization_id: string;
      readonly workspace_id: string | null;
      readonly status: 'draft' | 'active' | 'paused' | 'closed';
      readonly name: string | null;
      readonly execution_model: string;
      readonly product_line: string;
      readonly created_at: string;
      readonly updated_at: string;
    };
    creation: {
      organization_id: string;
      workspace_id?: string | null;
      actor: Reference;
      name?: string;
      execution_model?: string;
      product_line?: string;
    };
    created: undefined;
    moves: {
      activate: {
        event: 'service_line.activated';
        request: {
          actor: Reference;
          execution_model?: string;
          product_line?: string;
        };
      };
      pause: {
        event: 'service_line.paused';
        request: {
          actor: Reference;
          reason?: string;
          resume_expected_at?: string | null;
        };
      };
      resume: {
        event: 'service_line.status_changed';
        request: {
          actor: Reference;
          reason?: string;
        };
      };
      close: {
        event: 'service_line.closed';
        request: {
          actor: Reference;
          reason?: string;
          final_invoice_id?: string | null;
        };
      };
    };
  };
  invoices: {
    resource: {
      readonly id: string;
      readonly type: 'invoice';
      readonly organization_id: string;
      readonly workspace_id: string | null;
      readonly status: 'draft' | 'open' | 'paid' | 'voided';
      readonly service_line_id: string | null;
      readonly number: string | null;
      readonly amount_minor: number;
      readonly currency: string;
      readonly due_at: string | null;
      readonly payment_attempts: number;
      readonly created_at: string;
      readonly updated_at: string;
    };
    creation: {
      organization_id: string;
      workspace_id?: string | null;
      actor: Reference;
      service_line_id?: string;
      number?: string;
      amount_minor?: number;
      currency?: string;
      due_at?: string;
    };
    created: undefined;
    moves: {
      finalize: {
        event: 'invoice.finalized';
        request: {
          actor: Reference;
          service_line_id?: string;
          number?: string;
          amount_minor?: number;
          currency?: string;
          due_at?: string;
        };
      };
      pay: {
        event: 'invoice.paid';
        request: {
          actor: Reference;
          amount_minor?: number;
          currency?: string;
          payment_method?: string;
          paid_at?: string;
        };
      };
      'fail-payment': {
        event: 'invoice.payment_failed';
        request: {
          actor: Reference;
          amount_minor?: number;
          currency?: string;
          payment_method?: string;
          failure_code?: string;
          failure_reason?: string;
          next_attempt_at?: string | null;
        };
      };
      void: {
        event: 'invoice.voided';
        request: {
          actor: Reference;
          amount_minor?: number;
          currency?: string;
          reason?: string;
        };
      };
    };
  };
  incidents: {
    resource: {
      readonly id: string;
      readonly type: 'incident';
      readonly organization_id: string;
      readonly workspace_id: string | null;
      readonly status: 'open' | 'resolved';
      readonly service_line_id: string;
      readonly severity: string;
      readonly title: string;
      readonly created_at: string;
      readonly updated_at: string;
    };
    creation: {
      organization_id: string;
      workspace_id?: string | null;
      actor: Reference;
      service_line_id: string;
      severity: string;
      title: string;
    };
    created: 'incident.opened';
    moves: {
      'change-severity': {
        event: 'incident.severity_changed';
        request: {
          actor: Reference;
          service_line_id?: string;
          severity: string;
          reason?: string;
        };
      };
      resolve: {
        event: 'incident.resolved';
        request: {
          actor: Reference;
          service_line_id?: string;
          severity?: string;
          resolution?: string;
          duration_ms?: number;
        };
      };
    };
  };
  agents: {
    resource: {
      readonly id: string;
      readonly type: 'agent';
      readonly organization_id: string;
      readonly workspace_id: string | null;
      readonly status: 'active';
      readonly name: string | null;
      readonly created_at: string;
      readonly updated_at: string;
    };
    creation: {
      organization_id: string;
      workspace_id?: string | null;
      actor: Reference;
      name?: string;
    };
    created: undefined;
    moves: {
      'report-violation': {
        event: 'agent.policy_violated';
        request: {
          actor: Reference;
          run_id?: string | null;
          service_line_id?: string;
          policy?: string;
          action?: string;
          blocked?: boolean;
        };
      };
    };
  };
  runs: {
    resource: {
      readonly id: string;
      readonly type: 'run';
      readonly organization_id: string;
      readonly workspace_id: string | null;
      readonly status: 'running' | 'completed' | 'failed';
      readonly agent_id: string | null;
      readonly service_line_id: string;
      readonly task_id: string | null;
      readonly trigger: string | null;
      readonly created_at: string;
      readonly updated_at: string;
    };
    creation: {
      organization_id: string;
      workspace_id?: string | null;
      actor: Reference;
      agent_id?: string;
      service_line_id: string;
      task_id?: string | null;
      trigger?: string;
    };
    created: 'agent.run.started';
    moves: {
      complete: {
        event: 'agent.run.completed';
        request: {
          actor: Reference;
          service_line_id?: string;
          duration_ms?: number;
          tokens_used?: number;
          outcome?: string;
        };
      };
      fail: {
        event: 'agent.run.failed';
        request: {
          actor: Reference;
          agent_id?: string;
          service_line_id?: string;
          duration_ms?: number;
          tokens_used?: number;
          error_code?: string;
          error_message?: string;
          retryable?: boolean;
        };
      };
    };
  };
  users: {
    resource: {
      readonly id: string;
      readonly type: 'user';
      readonly organization_id: string;
      readonly workspace_id: string | null;
      readonly status: 'invited' | 'deactivated';
      readonly name: string | null;
      readonly email: string | null;
      readonly role: string;
      readonly invited_by: string | null;
      readonly expires_at: string | null;
      readonly created_at: string;
      readonly updated_at: string;
    };
    creation: {
      organization_id: string;
      workspace_id?: string | null;
      actor: Reference;
      name?: string;
      email?: string;
      role?: string;
      invited_by?: string;
      expires_at?: string | null;
    };
    created: 'user.invited';
    moves: {
      'change-role': {
        event: 'user.role_changed';
        request: {
          actor: Reference;
          role: string;
          changed_by?: string;
        };
      };
      deactivate: {
        event: 'user.deactivated';
        request: {
          actor: Reference;
          reason?: string;
          deactivated_by?: string;
        };
      };
    };
  };
  integrations: {
    resource: {
      readonly id: string;
      readonly type: 'integration';
      readonly organization_id: string;
      readonly workspace_id: string | null;
      readonly status: 'connected' | 'disconnected';
      readonly provider: string | null;
      readonly scopes: string[] | null;
      readonly created_at: string;
      readonly updated_at: string;
    };
    creation: {
      organization_id: string;
      workspace_id?: string | null;
      actor: Reference;
      provider?: string;
      scopes?: string[];
    };
    created: 'integration.connected';
    moves: {
      'fail-sync': {
        event: 'integration.sync_failed';
        request: {
          actor: Reference;
          provider?: string;
          error_code?: string;
          error_message?: string;
          records_synced?: number;
          last_success_at?: string | null;
          next_attempt_at?: string | null;
        };
      };
      disconnect: {
        event: 'integration.disconnected';
        request: {
          actor: Reference;
          provider?: string;
          reason?: string;
        };
      };
      reconnect: {
        event: 'integration.connected';
        request: {
          actor: Reference;
          provider?: string;
          scopes?: string[];
        };
      };
    };
  };
  executions: {
    resource: {
      readonly id: string;
      readonly type: 'execution';
      readonly organization_id: string;
      readonly workspace_id: string | null;
      readonly status: 'running' | 'blocked';
      readonly service_line_id: string | null;
      readonly task_id: string | null;
      readonly created_at: string;
      readonly updated_at: string;
    };
    creation: {
      organization_id: string;
      workspace_id?: string | null;
      actor: Reference;
      service_line_id?: string;
      task_id?: string | null;
    };
    created: undefined;
    moves: {
      block: {
        event: 'execution.blocked';
        request: {
          actor: Reference;
          service_line_id?: string;
          task_id?: string | null;
          reason?: string;
        };
      };
      resume: {
        event: 'execution.resumed';
        request: {
          actor: Reference;
          service_line_id?: string;
          task_id?: string | null;
          resolution?: string;
          blocked_ms?: number;
        };
      };
    };
  };
  capacities: {
    resource: {
      readonly id: string;
      readonly type: 'capacity';
      readonly organization_id: string;
      readonly workspace_id: string | null;
      readonly status: 'normal' | 'strained' | 'short';
      readonly name: string | null;
      readonly service_line_id: string | null;
      readonly skill: string | null;
      readonly created_at: string;
      readonly updated_at: string;
    };
    creation: {
      organization_id: string;
      workspace_id?: string | null;
      actor: Reference;
      name?: string;
      service_line_id?: string;
      skill?: string;
    };
    created: undefined;
    moves: {
      warn: {
        event: 'capacity.utilisation_warning';
        request: {
          actor: Reference;
          service_line_id?: string;
          utilisation?: number;
          threshold?: number;
          window_ms?: number;
        };
      };
      'detect-gap': {
        event: 'capacity.gap_detected';
        request: {
          actor: Reference;
          service_line_id?: string;
          skill?: string;
          required_hours?: number;
          available_hours?: number;
          starts_at?: string;
          ends_at?: string;
        };
      };
    };
  };
  tasks: {
    resource: {
      readonly id: string;
      readonly type: 'task';
      readonly organization_id: string;
      readonly workspace_id: string | null;
      readonly status: 'open' | 'in_progress' | 'done' | 'cancelled';
      readonly title: string | null;
      readonly priority: string | null;
      readonly service_line_id: string | null;
      readonly assignee_id: string | null;
      readonly due_at: string | null;
      readonly created_at: string;
      readonly updated_at: string;
    };
    creation: {
      organization_id: string;
      workspace_id?: string | null;
      actor: Reference;
      title?: string;
      priority?: string;
      service_line_id?: string;
      assignee_id?: string | null;
      due_at?: string | null;
    };
    created: 'task.created';
    moves: {
      assign: {
        event: 'task.assigned';
        request: {
          actor: Reference;
          service_line_id?: string;
          assignee_type?: string;
          assignee_id: string;
        };
      };
      start: {
        event: 'task.status_changed';
        request: {
          actor: Reference;
          service_line_id?: string;
          reason?: string;
        };
      };
      complete: {
        event: 'task.status_changed';
        request: {
          actor: Reference;
          service_line_id?: string;
          reason?: string;
        };
      };
      cancel: {
        event: 'task.status_changed';
        request: {
          actor: Reference;
          service_line_id?: string;
          reason?: string;
        };
      };
    };
  };
}
