//! The scripted model server as a provider of models: a client for it that speaks HTTP 1.0, so that an answer ends with
//! its connection.

use impresario::runtime::{
    ModelClient, ModelError, ModelReply, ModelRequest, ModelRole, ModelUsage, ToolCall, async_trait,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Calls models that the server on this port plays.
pub struct Provider {
    pub port: u16,
}

#[async_trait(?Send)]
impl ModelClient for Provider {
    async fn complete(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let unavailable = |error: std::io::Error| ModelError::Unavailable(error.to_string());
        let body = body_of(&request).to_string();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.0\r\nhost: 127.0.0.1\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))
            .await
            .map_err(unavailable)?;
        stream.set_nodelay(true).map_err(unavailable)?;
        stream
            .write_all(format!("{head}{body}").as_bytes())
            .await
            .map_err(unavailable)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.map_err(unavailable)?;
        read_answer(&answer).ok_or(ModelError::Unavailable(answer))
    }
}

fn body_of(request: &ModelRequest) -> Value {
    let mut messages = vec![json!({"role": "system", "content": request.system})];
    for message in &request.messages {
        let calls = message.tool_calls.iter().map(|call| {
            json!({"id": call.id, "type": "function",
                "function": {"name": call.tool, "arguments": call.arguments.to_string()}})
        });
        let calls: Vec<Value> = calls.collect();
        messages.push(match message.role {
            ModelRole::User => json!({"role": "user", "content": message.text}),
            ModelRole::Assistant if calls.is_empty() => json!({"role": "assistant", "content": message.text}),
            ModelRole::Assistant => {
                json!({"role": "assistant", "content": message.text, "tool_calls": calls})
            }
            ModelRole::Tool => {
                json!({"role": "tool", "content": message.text, "tool_call_id": message.answers_call})
            }
        });
    }
    let tools = request.tools.iter().map(|tool| {
        json!({"type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}})
    });
    let tools: Vec<Value> = tools.collect();
    let mut body = json!({"model": request.model, "messages": messages, "stream": false});
    if !tools.is_empty() {
        body["tools"] = Value::Array(tools);
    }
    body
}

fn read_answer(answer: &str) -> Option<ModelReply> {
    let (_, body) = answer.split_once("\r\n\r\n")?;
    let body: Value = serde_json::from_str(body).ok()?;
    let message = body.pointer("/choices/0/message")?;
    let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
    let call = |call: &Value| {
        Some(ToolCall {
            id: call["id"].as_str()?.to_string(),
            tool: call["function"]["name"].as_str()?.to_string(),
            arguments: serde_json::from_str(call["function"]["arguments"].as_str()?).ok()?,
        })
    };
    Some(ModelReply {
        text: message["content"].as_str().unwrap_or_default().to_string(),
        tool_calls: calls.iter().filter_map(call).collect(),
        usage: ModelUsage::default(),
        served: None,
    })
}
