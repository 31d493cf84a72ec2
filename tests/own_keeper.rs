//! An embedder is its own keeper: it calls `keeper_main` first thing and gives its own executable as the keeper's path.
//!
//! A test with a `main` of its own, for the test harness would be there before that call.

fn main() {
    impresario::keeper_main();
    #[cfg(target_os = "linux")]
    on_linux::run();
}

#[cfg(target_os = "linux")]
mod on_linux {
    use impresario_actors::processes::{
        ContainedProcess, ContainmentSetting, Part, ProcessSpec, marked_processes,
    };
    use impresario_policies::domain::RunId;
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::time::Duration;
    use tokio::io::AsyncReadExt;

    pub fn run() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.expect("a tokio runtime");
        for setting in [ContainmentSetting::Keeper, ContainmentSetting::Auto] {
            runtime.block_on(an_embedder_is_its_own_keeper(setting));
            println!("an embedder is its own keeper ({setting:?}) ... ok");
        }
    }

    async fn an_embedder_is_its_own_keeper(containment: ContainmentSetting) {
        let run = RunId::new(4, fastrand::u64(..));
        let spec = ProcessSpec {
            program: PathBuf::from("sh"),
            arguments: ["-c", "sleep 60 & setsid sleep 60 & echo ready; wait"]
                .map(str::to_string)
                .to_vec(),
            environment: BTreeMap::from([("PATH".to_string(), "/usr/bin:/bin".to_string())]),
            working_directory: PathBuf::from("/"),
            run: run.clone(),
            part: Part::SubAgent,
            containment,
            keeper: std::env::current_exe().expect("this program"),
        };
        let (process, mut streams) = ContainedProcess::start(spec).await.expect("it starts");
        let mut line = [0; 6];
        streams
            .stdout
            .read_exact(&mut line)
            .await
            .expect("the program speaks");
        let marked = || {
            marked_processes()
                .into_iter()
                .filter(|marked| marked.run == run)
                .collect::<Vec<_>>()
        };
        assert!(marked().len() >= 4, "{:?}", marked());

        let proof = process.stop(Duration::from_secs(60)).await;

        assert!(proof.no_children && proof.processes_left == 0, "{proof:?}");
        assert_eq!(marked(), []);
    }
}
