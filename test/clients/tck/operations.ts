/** Operation → HTTP method and address, where what stands in braces is of the params, and shape of the result (A2A 1.0 §5.3). */
export const OPERATIONS = {
  SendMessage: ["POST", "/message:send", "SendMessageResponse"],
  SendStreamingMessage: ["POST", "/message:stream", "StreamResponse"],
  GetTask: ["GET", "/tasks/{id}", "Task"],
  ListTasks: ["GET", "/tasks", "ListTasksResponse"],
  CancelTask: ["POST", "/tasks/{id}:cancel", "Task"],
  SubscribeToTask: ["POST", "/tasks/{id}:subscribe", "StreamResponse"],
  CreateTaskPushNotificationConfig: ["POST", "/tasks/{taskId}/pushNotificationConfigs", "TaskPushNotificationConfig"],
  GetTaskPushNotificationConfig: ["GET", "/tasks/{taskId}/pushNotificationConfigs/{id}", "TaskPushNotificationConfig"],
  ListTaskPushNotificationConfigs: [
    "GET",
    "/tasks/{taskId}/pushNotificationConfigs",
    "ListTaskPushNotificationConfigsResponse",
  ],
  DeleteTaskPushNotificationConfig: ["DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}", "Nothing"],
  GetExtendedAgentCard: ["GET", "/extendedAgentCard", "AgentCard"],
} as const;

export type Operation = keyof typeof OPERATIONS;

/** Reason → code over JSON-RPC, status over HTTP (A2A 1.0.1 §5.4; the kit still has 409 and 415 of 1.0.0 for two of them). */
export const ERRORS = {
  TASK_NOT_FOUND: [-32001, 404],
  TASK_NOT_CANCELABLE: [-32002, 400],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [-32003, 400],
  UNSUPPORTED_OPERATION: [-32004, 400],
  CONTENT_TYPE_NOT_SUPPORTED: [-32005, 400],
  VERSION_NOT_SUPPORTED: [-32009, 400],
  METHOD_NOT_FOUND: [-32601, 404],
  INVALID_PARAMS: [-32602, 400],
} as const;
